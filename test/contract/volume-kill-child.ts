/** Works on one volume of this machine and kills itself before the n-th change: `<root> <work> <version> <n>`. */
import { systemClock } from '../../src/async/index.js';
import { type Host, linuxHost } from '../../src/host/index.js';
import { isVersion, isWork, secretVolume } from './volume-kill-work.js';

const [, , rootDir = '', work = '', version = '', number = '0'] = process.argv;
const killAt = Number(number);
let changes = 0;

function countChange(): void {
  changes += 1;
  if (changes === killAt) process.kill(process.pid, 'SIGKILL');
}

const changing = new Set([
  'writeFile',
  'mkdir',
  'symlink',
  'rename',
  'unlink',
  'rmdir',
  'chmod',
  'lchown',
  'mount',
  'unmount',
]);

/** The port with each change counted. */
function counted<T extends object>(port: T): T {
  return new Proxy(port, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member !== 'function' || typeof name !== 'string' || !changing.has(name)) return member;
      return (...parameters: unknown[]): unknown => {
        countChange();
        return member.apply(target, parameters);
      };
    },
  });
}

const real = linuxHost();
const host: Host = {
  files: counted(real.files),
  ownFiles: counted(real.ownFiles),
  mounts: counted(real.mounts),
  blockDevices: counted(real.blockDevices),
  hold: (path) => real.hold(path),
  apart: (key) => {
    const { files, hold } = real.apart(key);
    return { files: counted(files), hold };
  },
  watch: real.watch,
  kernelRelease: real.kernelRelease,
  inUserNamespace: real.inUserNamespace,
};

if (!isWork(work) || !isVersion(version)) throw new Error('usage: <root> <work> <version> <n>');
await secretVolume(host, systemClock, rootDir)[work](version);
process.stdout.write(String(changes));
