/** A plan that breaks a rule, as a test that replays it. */
import type { Violation } from './invariants/violation.js';
import type { Plan } from './plan/step.js';

export function asTest(plan: Plan, { rule, message }: Violation): string {
  const { steps, ...rest } = plan;
  const lines = steps.map((step) => `    ${JSON.stringify(step)},`);
  return `/** Found by the simulation: ${comment(message)} */
import { expect, it } from 'vitest';
import { live } from '../life.js';
import type { Plan } from '../plan/step.js';

it(${JSON.stringify(rule)}, async () => {
  const plan: Plan = {
    ...${JSON.stringify(rest)},
    steps: [
${lines.map((line) => `  ${line}`).join('\n')}
    ],
  };
  expect((await live(plan)).violation).toBeUndefined();
});
`;
}

function comment(text: string): string {
  return text.replaceAll('*/', '* /').replaceAll('\n', ' ').slice(0, 300);
}
