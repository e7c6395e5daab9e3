/** A containerd that nodelet brings along: its process, its configuration, its network and its first images. */
export { HostImage, hostImageName, withHostImage } from './host-image.js';
export { importImages, PrivateContainerd, type PrivateContainerdOptions } from './private-containerd.js';
