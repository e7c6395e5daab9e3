/** Starts a containerd with a running container and dies, as a test run that is killed does. */
import { startContainerd } from './containerd.js';
import { testImages } from './images.js';
import { noteTraces } from './traces.js';

const containerd = await startContainerd();
await containerd.runContainer({ id: 'left', image: testImages.pause });
const traces = noteTraces(containerd.layout, []);
process.stdout.write(JSON.stringify({ layout: containerd.layout, traces }), () => {
  process.kill(process.pid, 'SIGKILL');
});
