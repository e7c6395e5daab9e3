/** Parses ConfigMaps, Secrets, PersistentVolumes and their claims from a manifest. */
import {
  decodeObjects,
  formatProblem,
  InvalidManifest,
  type ManifestKind,
  type Problem,
  parseSource,
  problemAt,
  type StandaloneObject,
  someProblems,
  validateObject,
} from '../../../kube/index.js';
import type { ObjectSet } from './object-index.js';

export interface ReadObjects {
  readonly objects: ObjectSet;
  /** What was ignored, one line each. */
  readonly warnings: readonly string[];
}

const kinds: readonly ManifestKind[] = ['ConfigMap', 'Secret', 'PersistentVolume', 'PersistentVolumeClaim'];

/** All objects of the text, from any number of documents; none if one is invalid. Throws InvalidManifest. */
export function readObjects(text: string, file: string): ReadObjects {
  const found: StandaloneObject[] = [];
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  for (const document of parseSource(text, file)) {
    try {
      const decoded = decodeObjects(document, kinds);
      warnings.push(...decoded.warnings);
      for (const { object, path } of decoded.objects) {
        if (object.kind === 'Pod') continue;
        for (const error of validateObject(object)) {
          problems.push(problemAt(document, [...path, ...error.path], error.message));
        }
        found.push(object);
      }
    } catch (error) {
      if (!(error instanceof InvalidManifest)) throw error;
      problems.push(...error.problems);
    }
  }
  // A misspelt field is often the reason why another one is missing.
  if (problems.length > 0) throw new InvalidManifest([...problems, ...warnings]);
  return { objects: objectSet(found), warnings: someProblems(warnings).map(formatProblem) };
}

function objectSet(objects: readonly StandaloneObject[]): ObjectSet {
  return {
    configMaps: objects.filter((object) => object.kind === 'ConfigMap'),
    secrets: objects.filter((object) => object.kind === 'Secret'),
    persistentVolumes: objects.filter((object) => object.kind === 'PersistentVolume'),
    persistentVolumeClaims: objects.filter((object) => object.kind === 'PersistentVolumeClaim'),
  };
}
