/** What presses the node: the signals of eviction with their thresholds, and how long work waits for CPU, memory and disk. */
import type { NodePressure } from '../../src/kubelet/describe-node/contracts.js';
import type { PsiStats } from '../../src/resources/stats/summary-types.js';
import { useCell } from '../cell.js';
import type { UsageHistory } from '../node/usage.js';
import { bytesText } from '../parts/amounts.js';
import { Scroll } from '../parts/scroll.js';

export function NodePressureTable({
  pressure: { off, problem, signals },
  usage,
}: {
  readonly pressure: NodePressure;
  readonly usage: UsageHistory;
}) {
  const node = useCell(usage.latest)?.node;
  const stalls: readonly (readonly [name: string, psi: PsiStats | undefined])[] = [
    ['CPU', node?.cpu?.psi],
    ['Memory', node?.memory?.psi],
    ['Disk', node?.io?.psi],
  ];
  return (
    <section class="sheet" aria-labelledby="pressure-heading">
      <h2 id="pressure-heading">Pressure</h2>
      {off === undefined ? null : <p class="soft">Nothing is evicted here: {off}.</p>}
      {problem === undefined ? null : <p class="problem">{problem}</p>}
      <div hidden={signals.length === 0}>
        <Scroll label="Signals of eviction">
          <table>
            <thead>
              <tr>
                <th scope="col">Signal</th>
                <th scope="col" class="number">
                  Left
                </th>
                <th scope="col" class="number">
                  Of
                </th>
                <th scope="col">Thresholds</th>
              </tr>
            </thead>
            <tbody>
              {signals.map(({ signal, unit, available, capacity, thresholds }) => {
                const text = (value: number | undefined): string =>
                  value === undefined
                    ? '–'
                    : unit === 'bytes'
                      ? bytesText(value)
                      : value.toLocaleString('en-US');
                return (
                  <tr key={signal}>
                    <th scope="row">{signal}</th>
                    <td class="number">{text(available)}</td>
                    <td class="number">{text(capacity)}</td>
                    <td>
                      {thresholds.map(({ kind, value, met }) => (
                        <span key={kind} class={met ? 'problem' : ''}>
                          {kind} {text(value)}
                          {met ? ' ▲ met' : ''}{' '}
                        </span>
                      ))}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </Scroll>
      </div>
      <h3>Part of the last 10 seconds in which work waited</h3>
      <dl class="facts">
        {stalls.map(([name, psi]) => (
          <>
            <dt>{name}</dt>
            <dd>
              {psi === undefined
                ? 'the kernel does not tell'
                : `some ${psi.some.avg10} %, all ${psi.full.avg10} %`}
            </dd>
          </>
        ))}
      </dl>
    </section>
  );
}
