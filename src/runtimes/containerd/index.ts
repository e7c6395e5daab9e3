/** A bundled containerd: its process, configuration, network and first images. */
export { HostImage, hostImageName, withHostImage } from './host-image.js';
export {
  ImportUnsupported,
  importImages,
  PrivateContainerd,
  type PrivateContainerdOptions,
} from './private-containerd.js';
