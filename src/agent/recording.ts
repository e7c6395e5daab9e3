/** The recording that `--record` asks for. Only an agent that records loads this. */
import path from 'node:path';
import { parseQuantity, quantityValue } from '../kube/index.js';
import { type Recording, startRecording } from '../replay/index.js';
import type { AgentNode } from './kubelet-options.js';
import { StartFailure } from './start-failure.js';
import { kubernetesVersion, version } from './version.js';

/** Less holds the start of no node. */
const smallestLimitBytes = 1024 * 1024;

export function openRecording({ configuration, timeline, registry }: AgentNode): Recording {
  const { recordDir, recordLimit } = configuration.flags;
  const limitBytes = Number(quantityValue(parseQuantity(recordLimit)));
  if (limitBytes < smallestLimitBytes)
    throw new StartFailure(`--record-limit ${recordLimit} is too small for a record; give at least 1Mi`);
  return startRecording({
    dir: path.resolve(recordDir),
    limitBytes,
    agentVersion: `${version} (${kubernetesVersion})`,
    timeline,
    registry,
  });
}
