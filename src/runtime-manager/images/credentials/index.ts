/** Credentials for pulling images: from pods, the machine and plugins. */
export { ImageKeyring, type ImageKeyringOptions } from './image-keyring.js';
export { type LoadPluginsOptions, loadCredentialPlugins } from './load-plugins.js';
export { machineCredentialFiles, NodeCredentials, type NodeCredentialsOptions } from './node-credentials.js';
export type { CredentialPlugin } from './plugin.js';
