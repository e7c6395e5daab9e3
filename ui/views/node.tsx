/** The node at a glance: what it has, what is given and used, what presses it, how its parts are, and what it is set to. */

import type { NodeDescription } from '../../src/kubelet/describe-node/contracts.js';
import { useCell } from '../cell.js';
import type { ViewProps } from '../frame.js';
import { bytesText, coresText } from '../parts/amounts.js';
import { useAsked } from '../parts/asked.js';
import { Plot } from '../parts/plot.js';
import { StepTable } from '../parts/steps.js';
import { NodeHealth } from './node-health.js';
import { NodePressureTable } from './node-pressure.js';
import { capacityOf, NodeResources } from './node-resources.js';
import { NodeSettings } from './node-settings.js';

const describeMs = 5_000;
const shownProblems = 10;

export function NodeView(props: ViewProps) {
  const described = useAsked<NodeDescription>('/debug/describe/node', describeMs);
  const description = described.kind === 'told' ? described.answer : undefined;
  return (
    <>
      <div class="heading">
        <h1>{description?.name ?? 'Node'}</h1>
        {description === undefined ? null : (
          <p>
            {[
              `Kubernetes ${description.system.kubeletVersion}`,
              description.system.containerRuntimeVersion,
              description.system.osImage,
              `Linux ${description.system.kernelVersion}`,
              description.addresses.map(({ address }) => address).join(', '),
            ]
              .map((text) => text.trim())
              .filter((text) => text !== '' && text !== 'Kubernetes')
              .join(' · ')}
          </p>
        )}
      </div>
      {described.kind === 'refused' ? <p class="problem">{described.why}</p> : null}
      <Usage {...props} description={description} />
      {description === undefined ? null : (
        <section class="sheet" aria-labelledby="capacity-heading">
          <h2 id="capacity-heading">Capacity</h2>
          <NodeResources {...props} description={description} />
        </section>
      )}
      <div class="columns">
        <NodeHealth conditions={description?.conditions ?? []} {...props} />
        {description === undefined ? null : (
          <NodePressureTable pressure={description.pressure} usage={props.usage} />
        )}
      </div>
      <NodeSettings />
      <Problems {...props} />
    </>
  );
}

function Usage({ usage, description }: ViewProps & { readonly description: NodeDescription | undefined }) {
  useCell(usage.latest);
  const problem = useCell(usage.problem);
  const samples = usage.ofNode();
  const timesMs = samples.map(({ timeMs }) => timeMs);
  const flat = (value: number | undefined): (number | null)[] => samples.map(() => value ?? null);
  const line = (resource: string, values: readonly (number | null)[]) => [
    { label: 'used', color: '--accent' as const, values },
    {
      label: 'given',
      color: '--good' as const,
      dashed: true,
      values: flat(capacityOf(description, resource)?.requested),
    },
    {
      label: 'capacity',
      color: '--soft' as const,
      dashed: true,
      values: flat(capacityOf(description, resource)?.capacity),
    },
  ];
  return (
    <section class="sheet" aria-labelledby="usage-heading">
      <h2 id="usage-heading">Used</h2>
      {problem === undefined ? null : <p class="problem">There are no figures now: {problem}</p>}
      <div class="columns">
        {samples.length === 0 ? null : (
          <>
            <Plot
              title="CPU"
              timesMs={timesMs}
              format={coresText}
              lines={line(
                'cpu',
                samples.map(({ cpuCores }) => cpuCores ?? null),
              )}
            />
            <Plot
              title="Memory"
              binary
              timesMs={timesMs}
              format={bytesText}
              lines={line(
                'memory',
                samples.map(({ memoryBytes }) => memoryBytes ?? null),
              )}
            />
          </>
        )}
      </div>
    </section>
  );
}

function Problems({ node }: ViewProps) {
  useCell(node.nodeVersion);
  const problems = node.nodeEntries().filter(({ level }) => level === 'warn' || level === 'error');
  if (problems.length === 0) return null;
  const steps = problems
    .slice(-shownProblems)
    .reverse()
    .map((entry) => ({ ...entry, problem: true }));
  return (
    <section class="sheet" aria-labelledby="problems-heading">
      <h2 id="problems-heading">The last problems that are about no pod</h2>
      <StepTable steps={steps} />
    </section>
  );
}
