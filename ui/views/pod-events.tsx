/** The events of a pod, as Kubernetes has them, and every step of its life with the cause. */
import { clockTime } from '../../src/timeline/clock-time.js';
import { explainPod } from '../../src/timeline/explain.js';
import { Scroll } from '../parts/scroll.js';
import { StepTable } from '../parts/steps.js';
import type { PodProps } from './pod.js';
import { usePodVersion } from './pod-overview.js';

export function PodEvents({ node, uid }: PodProps) {
  usePodVersion(node, uid);
  const entries = node.entriesOf(uid);
  if (entries.length === 0) return <p class="empty">The timeline has no entries of this pod.</p>;
  const events = entries.filter(({ event }) => event !== undefined);
  return (
    <>
      <section class="sheet" aria-labelledby="events-heading">
        <h2 id="events-heading">Events</h2>
        <Scroll label="Events of the pod">
          <table class="steps">
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Type</th>
                <th scope="col">Reason</th>
                <th scope="col">Container</th>
                <th scope="col">Message</th>
              </tr>
            </thead>
            <tbody>
              {[...events].reverse().map(({ seq, timeMs, event, container, message }) => (
                <tr key={seq}>
                  <td class="time">{clockTime(timeMs)}</td>
                  <td class={event?.type === 'Warning' ? 'problem' : ''}>{event?.type}</td>
                  <td>{event?.reason}</td>
                  <td>{container ?? ''}</td>
                  <td>{message}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </section>
      <section class="sheet" aria-labelledby="all-steps-heading">
        <h2 id="all-steps-heading">All steps</h2>
        <StepTable steps={[...explainPod(entries, [], node.nowMs()).steps].reverse()} />
      </section>
    </>
  );
}
