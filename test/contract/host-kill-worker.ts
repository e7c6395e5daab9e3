/** A process that works on volumes on this machine and is killed before the n-th call that changes it. */
import { linuxHost } from '../../src/host/index.js';
import { interposed } from './host-interposed.js';
import { workOnVolumes } from './host-kill-work.js';

const changes =
  /^files\.(writeFile|mkdir|symlink|rename|unlink|rmdir|chmod|lchown)$|^mounts\.(mount|unmount)$|^held\.makeDirectory$/;

const [, , killAt, root = ''] = process.argv;
let count = 0;
const host = interposed(linuxHost(), async (call) => {
  if (changes.test(call) && ++count === Number(killAt)) process.kill(process.pid, 'SIGKILL');
});
await workOnVolumes(host, root);
process.stdout.write(String(count));
