/** The shell scripts that run in the fresh root, where there is no more than a shell and Node. */

/** A command that runs the script in the root, with mounts, processes and a network of its own. */
export function inFreshRoot(root: string, script: string): string[] {
  const namespaces = ['--mount', '--pid', '--net', '--uts', '--ipc', '--fork', '--kill-child'];
  return ['unshare', ...namespaces, '--propagation', 'private', 'sh', '-c', enterRoot, 'sh', root, script];
}

/**
 * The root becomes the root of the mount namespace, as of a machine: the container runtime moves roots itself and cannot
 * from a changed root that is no mount. The last line's shell is process 1 there and waits for the processes that
 * lost their parents.
 */
const enterRoot = `
set -e
root=$1
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /sys/fs/cgroup sys/fs/cgroup
mount --rbind /dev dev
mount -t tmpfs -o mode=755 tmpfs run
pivot_root . old-root
umount --lazy /old-root
mount --make-rshared /
hostname fresh
# The line to the outside is laid by another process.
until grep -q tap0 /proc/net/route; do sleep 0.1; done
cd /root/nodelet
exec sh -c 'sh -c "$1" & wait $!' sh "$2"
`;

/** As a user does: starts it in a terminal, waits until the pods run, looks at them and presses Ctrl-C. */
export const npmStart = `
mkfifo /tmp/keys
# A shell without a terminal keeps Ctrl-C from what it starts in the background.
env --default-signal=INT,QUIT script -qefc 'npm start' /dev/null < /tmp/keys &
start=$!
exec 3> /tmp/keys
until bin/nodelet get pods 2>/dev/null | grep -q '^web .*2/2 .*Running'; do
  kill -0 $start || exit 1
  sleep 1
done
bin/nodelet get pods
printf '\\003' >&3
wait $start
code=$?
echo "npm start ended with $code after Ctrl-C"
test -z "$(bin/nodelet get pods 2>/dev/null)" || exit 1
# The pod that crashes is part of the example, and counts as a failure.
test $code -le 1 || test $code -eq 130
`;

export const npmTest = `
npm test
`;
