/** `/metrics/slis`: the results of the health checks, as metrics. */
import { Registry, registerStartTime } from '../../metrics/index.js';
import type { HealthCheck } from '../contracts.js';
import { createHealthMetrics } from '../metrics.js';
import { metricsRoute } from '../metrics-route.js';
import type { Route } from '../routes.js';

export interface HealthSlis {
  /** The checks with their results counted. */
  readonly checks: readonly HealthCheck[];
  readonly route: Route;
}

export function healthSlis(checks: readonly HealthCheck[]): HealthSlis {
  const registry = new Registry();
  registerStartTime(registry);
  const { current, total } = createHealthMetrics(registry);
  const labelsOf = ({ name }: HealthCheck) => ({ name, type: 'healthz' });
  const reset = (): void => {
    for (const check of checks) {
      current.remove(labelsOf(check));
      for (const status of ['success', 'error']) total.remove({ ...labelsOf(check), status });
    }
  };
  return {
    checks: checks.map((check) => ({
      name: check.name,
      check() {
        const labels = labelsOf(check);
        const told = (well: boolean): void => {
          current.set(well ? 1 : 0, labels);
          total.inc({ ...labels, status: well ? 'success' : 'error' });
        };
        try {
          const problem = check.check();
          told(problem === undefined);
          return problem;
        } catch (error) {
          told(false);
          throw error;
        }
      },
    })),
    route: metricsRoute('/metrics/slis', () => registry.text(), { reset }),
  };
}
