/** Bounds of the API of one node: what clients may make it store and keep. `docs/limits.md` tells of each. */
import { agentLimits } from '../kube/manifests/document-limits.js';

export const kubeApiLimits = {
  objectsPerKind: 20_000,
  objectBytes: 1536 * 1024,
  /** All objects together, as JSON. */
  storedBytes: 128 * 1024 * 1024,
  /** Beyond it new objects are refused, so that those that are there may still grow a little. */
  creationBytes: 112 * 1024 * 1024,
  rememberedChanges: 5_000,
  /** Of the objects as they were before those changes. */
  rememberedBytes: 16 * 1024 * 1024,
  requestBytes: 3 * 1024 * 1024,
  requestValues: agentLimits.maxTokens,
  /** Lists and mappings in each other, in requests and in stored objects. */
  depth: agentLimits.maxDepth,
  patchOperations: 10_000,
  selectorChars: 16_384,
  openStreams: 1_000,
  inactivityMs: 300_000,
  wholeListBytes: 1024 * 1024,
  listPieceBytes: 256 * 1024,
  listMs: 60_000,
  waitingCreations: 1_000,
  creationWaitMs: 1_000,
  keptEvents: 5_000,
  keptEventBytes: 16 * 1024 * 1024,
  eventLifeMs: 3_600_000,
  eventSweepMs: 30_000,
  unknownFieldsTold: 100,
  warningChars: 4_096,
  updatersPerObject: 10,
  appliersPerObject: 50,
} as const;
