/** The agent's tracing: on when the configuration has it, and else without any of its code. */
import { systemClock } from '../async/index.js';
import type { LoadedConfiguration } from '../config/index.js';
import { forwardingTracer, type Tracer } from '../tracing/index.js';
import type { AgentNode } from './kubelet-options.js';
import { version } from './version.js';

export interface AgentTracing {
  readonly tracer: Tracer;
  close(): Promise<void>;
}

export async function startTracing(
  { config: { tracing: settings } }: Pick<LoadedConfiguration, 'config'>,
  node: Pick<AgentNode, 'nodeName' | 'timeline' | 'registry'>,
): Promise<AgentTracing> {
  if (settings === undefined) return { tracer: forwardingTracer(), close: async () => {} };
  const { openTracing } = await import('../tracing/recording/open-tracing.js');
  return openTracing({ ...node, clock: systemClock, version, settings });
}
