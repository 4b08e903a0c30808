"""Object storage on loopback, with the files below a folder in the bucket `fleet`.

The address comes out as a line, once all files are there. It runs until it is ended.
"""

import pathlib
import sys
import threading

import boto3
from moto.server import ThreadedMotoServer

folder = pathlib.Path(sys.argv[1])
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
address, port = server.get_host_and_port()
endpoint = f"http://{address}:{port}"
client = boto3.client(
    "s3",
    endpoint_url=endpoint,
    region_name="us-east-1",
    aws_access_key_id="test",
    aws_secret_access_key="test",
)
client.create_bucket(Bucket="fleet")
for file in sorted(path for path in folder.rglob("*") if path.is_file()):
    client.upload_file(str(file), "fleet", f"logs/{file.relative_to(folder)}")
print(endpoint, flush=True)
threading.Event().wait()
