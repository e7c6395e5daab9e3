/** What happened, when and why, as a table. */
import { clockTime } from '../../src/timeline/clock-time.js';
import type { ExplainedStep } from '../../src/timeline/explain.js';
import { spanText } from './amounts.js';
import { Scroll } from './scroll.js';

export function StepTable({ steps }: { readonly steps: readonly ExplainedStep[] }) {
  return (
    <Scroll label="Steps">
      <table class="steps">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Container</th>
            <th scope="col">What</th>
            <th scope="col">Because</th>
          </tr>
        </thead>
        <tbody>
          {steps.map((step) => (
            <tr key={`${step.timeMs} ${step.what} ${step.container} ${step.message}`}>
              <td class="time">{clockTime(step.timeMs)}</td>
              <td>{step.container ?? ''}</td>
              <td class={step.problem ? 'problem' : ''}>
                {step.problem ? <span aria-hidden="true">▲ </span> : null}
                {step.message}
                {step.durationMs === undefined ? '' : ` (${spanText(step.durationMs)})`}
                {step.error === undefined || step.message.includes(step.error) ? '' : `: ${step.error}`}
              </td>
              <td class="soft">{step.because ?? ''}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
