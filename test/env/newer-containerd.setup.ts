/** In each worker of the tests on the newer containerd: a nodelet that starts a containerd itself finds the same one. */
import { containerdEnvironment } from './containerd-programs.js';

Object.assign(process.env, await containerdEnvironment('newer'));
