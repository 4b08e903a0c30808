# Runs a program in a root folder of its own, which looks like the runner's container: this
# machine's files, and /www, /downloads, /certs and /logs of one cell. It is started in a network
# namespace and a mount namespace that end with it.
#
# usage: stage.sh ROOT CELL_FOLDER LOGS PROGRAM ARGUMENTS...
set -eu
root=$1 cell=$2 logs=$3
shift 3
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$root"
for entry in /*; do
    case $entry in
        /www | /downloads | /certs | /logs) continue ;;
    esac
    if [ -L "$entry" ]; then
        cp -P "$entry" "$root$entry"
    elif [ -d "$entry" ]; then
        mkdir "$root$entry"
        mount --rbind "$entry" "$root$entry"
    fi
done
for folder in www downloads certs; do
    mkdir "$root/$folder"
    mount --bind "$cell/$folder" "$root/$folder"
done
mkdir "$root/logs"
mount --bind "$logs" "$root/logs"
mount --bind "$cell/hosts" "$root/etc/hosts"
exec chroot "$root" "$@"
