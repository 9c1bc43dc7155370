"""Runs small programs on an installed TensorFlow and keeps what they print, for the tests of the log parser.

    python tests/oracle/record/logs.py 1.15 /path/to/python-of-tensorflow-1.15 \\
        2.21 /path/to/python-of-tensorflow-2.21

writes ``tests/data/logs.json.xz``: for each release and program what went to stdout, to stderr, and what a file got
that both went to, which mixes them as they come. Folders of the machine are left out of the texts.
"""

import json
import lzma
import re
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "data" / "logs.json.xz"

SESSIONS = """
import tensorflow as tf
try:
  tf=tf.compat.v1
except AttributeError: pass
tf.disable_eager_execution()
import numpy as np
def sess(**k):
  return tf.Session(config=tf.ConfigProto(log_device_placement=True,device_count={'CPU':4},**k))
"""
EAGER = """
import tensorflow as tf
tf.debugging.set_log_device_placement(True)
tf.config.set_logical_device_configuration(tf.config.list_physical_devices('CPU')[0],[tf.config.LogicalDeviceConfiguration()]*3)
"""

PROGRAMS = {
    "matmul": """
a=tf.constant([1.,2.,3.,4.,5.,6.],shape=[2,3],name='a')
b=tf.constant([1.,2.,3.,4.,5.,6.],shape=[3,2],name='b')
c=tf.matmul(a,b)
print(sess().run(c))
""",
    "towers": """
c=[]
for d in ['/cpu:2','/cpu:3']:
  with tf.device(d):
    a=tf.constant([1.,2.,3.,4.,5.,6.],shape=[2,3])
    b=tf.constant([1.,2.,3.,4.,5.,6.],shape=[3,2])
    c.append(tf.matmul(a,b))
with tf.device('/cpu:0'):
  s=tf.add_n(c)
print(sess().run(s))
""",
    "two_sessions": """
g1=tf.Graph()
with g1.as_default(), tf.device('/cpu:1'):
  x=tf.constant(1.,name='x'); y=tf.negative(x,name='y')
print(tf.Session(graph=g1,config=tf.ConfigProto(log_device_placement=True,device_count={'CPU':4})).run(y))
g2=tf.Graph()
with g2.as_default(), tf.device('/cpu:2'):
  x=tf.constant(1.,name='x'); z=tf.negative(x,name='z')
print(tf.Session(graph=g2,config=tf.ConfigProto(log_device_placement=True,device_count={'CPU':4})).run(z))
""",
    "grown": """
x=tf.constant(2.,name='x')
s=sess()
print(s.run(x))
with tf.device('/cpu:1'):
  y=tf.square(x,name='y')
print(s.run(y))
with tf.device('/cpu:3'):
  z=tf.square(y,name='z')
print(s.run(z))
""",
    "training": """
x=tf.placeholder(tf.float32,[None,4],name='x')
with tf.device('/cpu:1'):
  w=tf.get_variable('w',[4,2]); b=tf.get_variable('b',[2],initializer=tf.zeros_initializer())
y=tf.nn.relu(tf.matmul(x,w)+b)
loss=tf.reduce_mean(tf.square(y),name='loss')
t=tf.train.AdamOptimizer().minimize(loss,global_step=tf.train.get_or_create_global_step())
s=sess()
s.run(tf.global_variables_initializer())
for i in range(3):
  print('step',i,s.run([loss,t],{x:np.ones((3,4))})[0])
""",
    "control_flow": """
i=tf.constant(0,name='i')
r=tf.while_loop(lambda i:i<10,lambda i:i+1,[i],name='loop')
q=tf.cond(r>5,lambda:tf.constant(1.),lambda:tf.constant(2.),name='either')
print(sess().run(q))
""",
    "odd_names": """
x=tf.constant(1.,name='a.b-c/d_e.0')
with tf.name_scope('Model-1.x'):
  y=tf.negative(x,name='layer-2/out')
  with tf.device('/cpu:1'):
    z=tf.negative(y,name='x'*150)
print(sess().run(z))
""",
    "soft": """
with tf.device('/gpu:2'):
  a=tf.constant([1.,2.],name='a'); b=tf.add(a,a,name='b')
print(sess(allow_soft_placement=True).run(b))
""",
    "failed": """
with tf.device('/cpu:1'):
  ok=tf.constant(1.,name='ok')
with tf.device('/gpu:2'):
  a=tf.constant([1.,2.],name='a'); b=tf.add(a,a,name='b')
try:
  print(sess().run(b))
except tf.errors.InvalidArgumentError as e:
  print(e)
""",
    "cluster": """
server=tf.train.Server.create_local_server(config=tf.ConfigProto(log_device_placement=True,device_count={'CPU':2}))
with tf.device('/job:local/task:0/cpu:1'):
  x=tf.constant(3.,name='x')
y=tf.negative(x,name='y')
with tf.Session(server.target,config=tf.ConfigProto(log_device_placement=True)) as s:
  print(s.run(y))
""",
    "dataset": """
d=tf.data.Dataset.range(3).map(lambda v:v*2)
it=tf.data.make_one_shot_iterator(d)
n=it.get_next()
with tf.device('/cpu:2'):
  m=tf.identity(n,name='m')
s=sess()
for k in range(3): print(s.run(m))
""",
    "prints": """
import sys
with tf.device('/cpu:1'):
  x=tf.constant(4,name='x')
y=tf.square(x,name='y')
print('working... ',end='')
s=sess()
print(s.run(y))
print('Epoch 1: loss 0.5')
print('/job:localhost is the job')
print(s.run(x))
""",
    "many": """
ts=[]
for k in range(60):
  with tf.device('/cpu:%d'%(k%4)), tf.name_scope('tower_%d'%k):
    a=tf.constant(float(k),name='const'); ts.append(tf.square(a,name='square'))
s=tf.add_n(ts,name='sum')
print(sess().run(s))
""",
}
"""Programs for sessions, of both releases."""

EAGER_PROGRAMS = {
    "eager": """
a=tf.constant([[1.,2.,3.],[4.,5.,6.]])
b=tf.constant([[1.,2.],[3.,4.],[5.,6.]])
print(tf.matmul(a,b))
with tf.device('/CPU:1'):
  print(tf.add(a,a))
""",
    "function": """
with tf.device('/CPU:1'):
  v=tf.Variable([[1.,2.],[3.,4.]],name='v')
@tf.function
def f(x):
  z=tf.matmul(x,v)
  if tf.reduce_sum(z)>0:
    z=z+1
  return tf.nn.relu(z)
print(f(tf.ones([2,2])))
""",
    "keras": """
m=tf.keras.Sequential([tf.keras.Input((4,)),tf.keras.layers.Dense(3,activation='relu',name='first'),tf.keras.layers.Dense(1)])
m.compile('sgd','mse')
import numpy as np
m.fit(np.ones((8,4)),np.ones((8,1)),epochs=1,verbose=2)
""",
    "two_functions": """
@tf.function
def f(x):
  with tf.device('/CPU:1'):
    return tf.square(x,name='same')
@tf.function
def g(x):
  with tf.device('/CPU:2'):
    return tf.square(x,name='same')
x=tf.constant(3.)
print(f(x).numpy(),g(x).numpy())
""",
}
"""Programs for 2.21 alone."""


def programs(release: str) -> dict[str, str]:
    """Name and text of a release's programs."""
    found = {name: SESSIONS + text for name, text in PROGRAMS.items()}
    if release.startswith("2."):
        found |= {name: EAGER + text for name, text in EAGER_PROGRAMS.items()}
    return found


def without_folders(text: str) -> str:
    """Paths of the machine shortened to the file's name."""
    return re.sub(r"/[\w./+-]*?/(?=(?:site-packages/)?[\w./-]+\.py\b)", "", text)


def record(python: str, release: str) -> dict[str, dict[str, str]]:
    """What each program printed."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in programs(release).items():
            path = Path(folder, f"program_{name}.py")  # no name of a module
            path.write_text(text)
            apart = subprocess.run([python, path], capture_output=True, text=True, stdin=subprocess.DEVNULL)
            together = subprocess.run(
                [python, path],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                stdin=subprocess.DEVNULL,
            )
            found[f"{release} {name}"] = {
                "stdout": without_folders(apart.stdout),
                "stderr": without_folders(apart.stderr),
                "both": without_folders(together.stdout),
            }
    return found


if __name__ == "__main__":
    logs: dict[str, dict[str, str]] = {}
    for release, python in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        logs |= record(python, release)
    DATA.write_bytes(lzma.compress(json.dumps(logs, indent=0).encode()))
