/** The version of this build, and the version of Kubernetes that it behaves as. */

export const version = '0.1.0';
export const kubernetesVersion = 'v1.37.1';
