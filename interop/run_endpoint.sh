#!/bin/bash
# What the runner starts in the image: routes, the wait for the network, then the endpoint.
set -e

# Part of the base image.
/setup.sh

if [ "$ROLE" = client ]; then
    /wait-for-it.sh sim:57832 -s -t 30
fi

# In the place of this shell, so that signals reach it and its exit code is the container's.
exec imtcp-interop
