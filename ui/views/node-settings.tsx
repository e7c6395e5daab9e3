/** What the node is set to: the gates that were set, and the limits in use. */
import { useAsked } from '../parts/asked.js';

interface PublishedConfig {
  readonly kubeletconfig: Readonly<Record<string, unknown>> & {
    readonly featureGates?: Readonly<Record<string, boolean>> | undefined;
  };
}

/** The fields that bound something, in the order in which they are shown. */
const limitFields = [
  'maxPods',
  'podPidsLimit',
  'evictionHard',
  'evictionSoft',
  'evictionMinimumReclaim',
  'systemReserved',
  'kubeReserved',
  'imageGCHighThresholdPercent',
  'imageGCLowThresholdPercent',
  'maxParallelImagePulls',
  'registryPullQPS',
  'registryBurst',
  'containerLogMaxSize',
  'containerLogMaxFiles',
  'maxOpenFiles',
  'eventRecordQPS',
  'kubeAPIQPS',
  'shutdownGracePeriod',
] as const;

/** It changes only with a restart. */
const askMs = 60_000;

export function NodeSettings() {
  const asked = useAsked<PublishedConfig>('/configz', askMs);
  if (asked.kind === 'asking') return null;
  if (asked.kind === 'refused') return <p class="soft">The settings cannot be read: {asked.why}</p>;
  const { kubeletconfig } = asked.answer;
  const gates = Object.entries(kubeletconfig.featureGates ?? {}).sort();
  const limits = limitFields.flatMap((field) => {
    const value = kubeletconfig[field];
    return value === undefined || value === null ? [] : [{ field, text: valueText(value) }];
  });
  return (
    <section class="sheet" aria-labelledby="settings-heading">
      <h2 id="settings-heading">Gates and limits in use</h2>
      <dl class="facts">
        <dt>Feature gates</dt>
        <dd>
          {gates.length === 0
            ? 'none is set; all have their defaults'
            : gates.map(([name, on]) => `${name}=${on}`).join(', ')}
        </dd>
        {limits.map(({ field, text }) => (
          <>
            <dt>{field}</dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
    </section>
  );
}

function valueText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const pairs = Object.entries(value).map(([key, one]) => `${key} ${String(one)}`);
  return pairs.length === 0 ? 'none' : pairs.join(', ');
}
