import { describe, expect, it } from 'vitest';
import {
  CriError,
  MetricDescriptor,
  MetricType,
  PodSandboxMetrics,
  PodSandboxStatsResponse,
  type Metric as RuntimeMetric,
} from '../../cri/index.js';
import { decidedOnce, type MeasuredBy, measuredBy } from './measured-by.js';
import { runtimeMetricsText, runtimeScrape } from './runtime-metrics.js';

describe('who measures pods', () => {
  it.each<[string, () => Promise<PodSandboxStatsResponse>, MeasuredBy | undefined]>([
    ['a runtime that does not know the call', () => fail('Unimplemented'), 'kernel'],
    ['a runtime that misses the sandbox', () => fail('NotFound'), 'runtime'],
    ['a runtime that answers', async () => PodSandboxStatsResponse.create({}), 'runtime'],
    ['nobody answers', () => fail('Unavailable'), undefined],
  ])('%s', async (_, podSandboxStats, expected) => {
    expect(await measuredBy({ podSandboxStats })).toBe(expected);
  });

  it('is asked until there is an answer, and then never again', async () => {
    const answers: (MeasuredBy | undefined)[] = [undefined, 'runtime', 'kernel'];
    const decided: string[] = [];
    const who = decidedOnce(
      async () => answers.shift(),
      (by) => decided.push(by),
    );
    expect([await who(), await who(), await who()]).toEqual(['kernel', 'runtime', 'runtime']);
    expect(await Promise.all([who(), who()])).toEqual(['runtime', 'runtime']);
    expect(decided).toEqual(['runtime']);
    expect(answers).toEqual(['kernel']);
  });
});

describe('the metrics of the runtime', () => {
  const cpu = MetricDescriptor.create({
    name: 'container_cpu_usage_seconds_total',
    help: 'CPU\ntime \\ in seconds',
    labelKeys: ['pod', 'container'],
  });
  const bare = MetricDescriptor.create({ name: 'container_last_seen', help: 'Seen.' });
  const metric = (name: string, labelValues: string[], value: number, more: Partial<RuntimeMetric> = {}) => ({
    name,
    labelValues,
    value: { value },
    metricType: MetricType.COUNTER,
    ...more,
  });
  const ofPod = (...metrics: ReturnType<typeof metric>[]) => PodSandboxMetrics.create({ metrics });

  it.each<[string, MetricDescriptor[], PodSandboxMetrics[], string]>([
    ['nothing', [], [], ''],
    [
      'of pods and of containers, by family',
      [cpu, bare],
      [
        PodSandboxMetrics.create({
          metrics: [metric('container_last_seen', [], 7, { metricType: MetricType.GAUGE })],
          containerMetrics: [{ metrics: [metric(cpu.name, ['web', 'a"b'], 3, { timestamp: 5_000_000n })] }],
        }),
        ofPod(metric(cpu.name, ['db', ''], 4)),
      ],
      '# HELP container_cpu_usage_seconds_total CPU\\ntime \\\\ in seconds\n# TYPE container_cpu_usage_seconds_total counter\n' +
        'container_cpu_usage_seconds_total{pod="web",container="a\\"b"} 3 5\n' +
        'container_cpu_usage_seconds_total{pod="db",container=""} 4\n' +
        '# HELP container_last_seen Seen.\n# TYPE container_last_seen gauge\ncontainer_last_seen 7\n',
    ],
    ['one without a descriptor is left out', [bare], [ofPod(metric(cpu.name, ['web', 'app'], 3))], ''],
    ['one with other labels is left out', [cpu], [ofPod(metric(cpu.name, ['web'], 3))], ''],
    [
      'a name that is none is left out',
      [MetricDescriptor.create({ name: 'a b' })],
      [ofPod(metric('a b', [], 3))],
      '',
    ],
    [
      'a label that is none is left out',
      [MetricDescriptor.create({ name: 'a', labelKeys: ['x-y'] })],
      [ofPod(metric('a', ['1'], 3))],
      '',
    ],
    [
      'of two alike the first counts, and of two types the first',
      [bare],
      [
        ofPod(
          metric(bare.name, [], 1),
          metric(bare.name, [], 2),
          metric(bare.name, [], 3, { metricType: MetricType.GAUGE }),
        ),
      ],
      '# HELP container_last_seen Seen.\n# TYPE container_last_seen counter\ncontainer_last_seen 1\n',
    ],
  ])('%s', (_, descriptors, pods, expected) => {
    expect([...runtimeMetricsText(descriptors, pods)].join('')).toBe(expected);
  });

  it('stand before those of the machine, and their loss is told', async () => {
    const machine = () => {
      throw new Error('no machine');
    };
    const lost = await runtimeScrape({
      cri: {
        listMetricDescriptors: () => fail('Unavailable'),
        listPodSandboxMetrics: async () => ({ podMetrics: [] }),
      },
      machine,
    })();
    expect(String(lost.error)).toContain('no');
    expect([...lost.parts].join('')).toMatch(
      /^# HELP machine_scrape_error .*\n.*\nmachine_scrape_error 1\n$/,
    );
  });
});

function fail(code: ConstructorParameters<typeof CriError>[0]): Promise<never> {
  return Promise.reject(new CriError(code, 'no'));
}
