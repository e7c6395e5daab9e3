/** subPath mounts: one file or directory of a volume, which no link can redirect outside it. */
export { cleanSubPaths, type SubPathRemains } from './clean-up.js';
export { prepareSubPath, SubPathError, type SubPathMount } from './prepare.js';
export { type SubPathLocation, subPathProblem, subPathsDirectory, subPathTarget } from './subpath-names.js';
