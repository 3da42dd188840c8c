#!/usr/bin/env bash
# Runs a command on a SLURM of two nodes made of this machine: tests/slurm/cluster.sh FOLDER COMMAND...
#
# Needs root and Debian's slurm-wlm and munge. node1 and node2 have their own host names, networks and processes
# (namespaces, joined by a virtual cable) but share this machine's files. When the command ends or this script is killed,
# the kernel ends every process in them. FOLDER has all that SLURM writes, FOLDER/log what the daemons say. `ip link
# delete cable1; kill -9 $(cat FOLDER/node2.init)` is a power cut of node2, which then starts again.
set -euo pipefail
self=$(realpath "$0")
folder=$(realpath "$1") stage=${SLURM_ROOM:-outside}
shift
export SLURM_CONF=$folder/slurm.conf

case $stage in
outside)
    mkdir -p "$folder"/{log,state}
    SLURM_ROOM=node1 exec unshare --mount --uts --net --pid --fork --kill-child --mount-proc "$self" "$folder" "$@"
    ;;
node2)
    hostname node2
    until ip link set cable2 up 2>/dev/null; do sleep 0.05; done
    ip link set lo up
    ip address add 10.77.0.2/24 dev cable2
    slurmd -D -L "$folder/log/node2"
    exit
    ;;
esac

cat >"$SLURM_CONF" <<END
ClusterName=room
SlurmctldHost=node1
SlurmUser=root
AuthInfo=socket=$folder/munge,cred_expire=5
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
SchedulerParameters=bf_interval=1,sched_interval=2,sched_min_interval=0
ReturnToService=2
SlurmdTimeout=30
MessageTimeout=30
MailProg=/bin/true
KillWait=60
MinJobAge=600
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=node[1-2] CPUs=16 Gres=gpu:8
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 GraceTime=120
PartitionName=high Nodes=ALL PriorityTier=2 PreemptMode=OFF
END
for number in {0..7}; do mknod "$folder/gpu$number" c 1 3; done  # as empty as /dev/null
echo "Name=gpu File=$folder/gpu[0-7]" >"$folder/gres.conf"
printf '127.0.0.1 localhost\n10.77.0.1 node1\n10.77.0.2 node2\n' >"$folder/hosts"
mount --bind "$folder/hosts" /etc/hosts
hostname node1
ip link set lo up
ip address add 10.77.0.1/32 dev lo # stays when the cable is cut

head -c 128 /dev/urandom >"$folder/munge.key"
chmod 600 "$folder/munge.key"
munged --force --key-file="$folder/munge.key" --socket="$folder/munge" --pid-file="$folder/munged.pid" \
    --log-file="$folder/log/munged" --seed-file="$folder/munge.seed" 2>/dev/null
while true; do  # node2 starts again after a power cut
    ip link add cable1 type veth peer name cable2
    ip link set cable1 up
    ip route add 10.77.0.2 dev cable1 src 10.77.0.1
    SLURM_ROOM=node2 unshare --uts --net --pid --fork --kill-child --mount-proc "$self" "$folder" &
    echo $! >"$folder/node2.init"
    until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.02; done
    ip link set cable2 netns $!
    wait $! || true
    until sinfo --noheader --nodes=node2 --format=%T | grep -q down; do sleep 0.5; done # SLURM has noticed
done &
slurmctld -D -L "$folder/log/slurmctld" &
slurmd -D -L "$folder/log/node1" &
until ((SECONDS > 600)); do
    ready=$(sinfo --noheader --states=idle --format=%D --partition=low 2>/dev/null || true)
    [ "$ready" != 2 ] || break
    sleep 0.2
done
if [ "$ready" != 2 ]; then
    tail --lines=20 --verbose "$folder"/log/* >&2
    exit 1
fi
unset SLURM_ROOM
"$@"
