/** `/stats/summary` and the metrics derived from the same statistics. */
import { errorText } from '../../async/index.js';
import { machineText, resourceMetricsText, type StatsProvider } from '../../resources/stats/index.js';
import type { Timeline } from '../../timeline/index.js';
import { metricsRoute } from '../metrics-route.js';
import { type RouteResponse, text } from '../responses.js';
import type { Route, ServerRequest } from '../routes.js';

function noStats(version: string): StatsProvider {
  const error = new Error('this node keeps no statistics');
  return {
    summary: () => Promise.reject(error),
    measured: () => Promise.reject(error),
    measuredNode: () => Promise.reject(error),
    scrape: async () => ({
      parts: [machineText(undefined, version, { containers: true, machine: true })],
      error,
    }),
  };
}

export interface StatsRoutesOptions {
  readonly stats: StatsProvider | undefined;
  readonly version: string;
  readonly timeline: Pick<Timeline, 'record'>;
  /** Serves metrics that are hidden for their age. Default: no. */
  readonly showHidden?: boolean;
}

export function statsRoutes({ stats: given, version, timeline, showHidden }: StatsRoutesOptions): Route[] {
  const stats = given ?? noStats(version);
  /** The scrape only shows that it failed; the reason is recorded here. */
  const tell = (error: unknown): void => {
    const message = 'statistics could not be read for a scrape';
    timeline.record({ kind: 'problem', what: 'server.stats', message, level: 'warn', error });
  };
  return [
    {
      kind: 'resource',
      root: '/stats',
      path: '/stats/summary',
      methods: ['GET', 'POST'],
      produces: 'application/json',
      handle: (request) => summary(stats, request),
    },
    metricsRoute('/metrics/resource', async () => {
      const told = await stats.summary({ onlyCpuAndMemory: true, rates: false }).catch(tell);
      return resourceMetricsText(told ?? undefined, showHidden);
    }),
    metricsRoute('/metrics/cadvisor', async () => {
      const { parts, error } = await stats.scrape();
      if (error !== undefined) tell(error);
      return parts;
    }),
  ];
}

async function summary(
  stats: Pick<StatsProvider, 'summary'>,
  request: ServerRequest,
): Promise<RouteResponse> {
  try {
    const given = await formValues(request);
    const asked = given.getAll('only_cpu_and_memory');
    const onlyCpuAndMemory = asked.length === 1 && asked[0] === 'true';
    const told = await stats.summary({ onlyCpuAndMemory });
    return {
      status: 200,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(told, published, 1),
    };
  } catch (error) {
    return text(500, `Internal Error: ${errorText(error)}`);
  }
}

/** The API's times have whole seconds. */
function published(key: string, value: unknown): unknown {
  const isTime = (key === 'time' || key === 'startTime') && typeof value === 'string';
  return isTime ? value.replace(/\.\d+Z$/, 'Z') : value;
}

const mediaType = /^[^\s/;]+\/[^\s/;]+\s*(;.*)?$/;

/** Form values come before those of the query. */
async function formValues({ method, query, headers, readBody }: ServerRequest): Promise<URLSearchParams> {
  if (method !== 'POST') return query;
  const type = headers['content-type'] ?? 'application/octet-stream';
  if (!mediaType.test(type))
    throw new Error('parse form failed: mime: unexpected content after media subtype');
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) return query;
  const body = (await readBody?.())?.toString() ?? '';
  return new URLSearchParams([...new URLSearchParams(body), ...query]);
}
