/** What the pod and its containers asked for, were given, and use. */
import { useCell } from '../cell.js';
import type { UsageSample } from '../node/usage.js';
import { amountOf, bytesText, coresText, resourceText } from '../parts/amounts.js';
import { Plot } from '../parts/plot.js';
import { Scroll } from '../parts/scroll.js';
import type { PodProps } from './pod.js';

export function PodResources({ node, usage, uid }: PodProps) {
  useCell(usage.latest);
  const problem = useCell(usage.problem);
  const pod = node.pod(uid)?.pod;
  if (pod === undefined) return null;
  const samples = usage.ofPod(uid);
  const timesMs = samples.map(({ timeMs }) => timeMs);
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  return (
    <section class="sheet" aria-labelledby="resources-heading">
      <h2 id="resources-heading">Resources</h2>
      {problem === undefined ? null : <p class="problem">There are no figures now: {problem}</p>}
      <div class="columns">
        {samples.length === 0 ? null : (
          <>
            <Plot
              title="CPU"
              timesMs={timesMs}
              format={coresText}
              lines={lines(samples, 'cpuCores', asked(pod.spec.containers, 'cpu'))}
            />
            <Plot
              title="Memory"
              binary
              timesMs={timesMs}
              format={bytesText}
              lines={lines(samples, 'memoryBytes', asked(pod.spec.containers, 'memory'))}
            />
          </>
        )}
      </div>
      <Scroll label="Resources of the containers">
        <table>
          <thead>
            <tr>
              <th scope="col">Container</th>
              <th scope="col">Resource</th>
              <th scope="col" class="number">
                Asked
              </th>
              <th scope="col" class="number">
                Limit
              </th>
              <th scope="col" class="number">
                Allocated
              </th>
              <th scope="col" class="number">
                Used
              </th>
            </tr>
          </thead>
          <tbody>
            {pod.spec.containers.flatMap(({ name, resources = {} }) =>
              ['cpu', 'memory'].map((resource) => {
                const now = usage.ofContainer(uid, name).at(-1);
                const used = resource === 'cpu' ? now?.cpuCores : now?.memoryBytes;
                const allocated = statuses.find((one) => one.name === name)?.allocatedResources?.[resource];
                return (
                  <tr key={`${name} ${resource}`}>
                    <th scope="row">{name}</th>
                    <td>{resource}</td>
                    <td class="number">{resources.requests?.[resource] ?? '–'}</td>
                    <td class="number">{resources.limits?.[resource] ?? '–'}</td>
                    <td class="number">{allocated ?? '–'}</td>
                    <td class="number">{used === undefined ? '–' : resourceText(resource, used)}</td>
                  </tr>
                );
              }),
            )}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

interface Asked {
  readonly requests: number | undefined;
  readonly limits: number | undefined;
}

/** Of all containers together; undefined where none says it, and a limit also where one has none. */
function asked(
  containers: readonly {
    readonly resources?: {
      readonly requests?: Readonly<Record<string, string | number>>;
      readonly limits?: Readonly<Record<string, string | number>>;
    };
  }[],
  resource: string,
): Asked {
  const requests = containers.flatMap(({ resources }) => amountOf(resources?.requests?.[resource]) ?? []);
  const limits = containers.flatMap(({ resources }) => amountOf(resources?.limits?.[resource]) ?? []);
  const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);
  return {
    requests: requests.length === 0 ? undefined : sum(requests),
    limits: limits.length < containers.length || limits.length === 0 ? undefined : sum(limits),
  };
}

function lines(
  samples: readonly UsageSample[],
  key: 'cpuCores' | 'memoryBytes',
  { requests, limits }: Asked,
): Parameters<typeof Plot>[0]['lines'] {
  const flat = (value: number): number[] => samples.map(() => value);
  return [
    { label: 'used', color: '--accent', values: samples.map((sample) => sample[key] ?? null) },
    ...(requests === undefined
      ? []
      : [{ label: 'asked', color: '--good' as const, dashed: true, values: flat(requests) }]),
    ...(limits === undefined
      ? []
      : [{ label: 'limit', color: '--bad' as const, dashed: true, values: flat(limits) }]),
  ];
}
