/** What the node has of each resource, what of it is reserved, given and used, and what is free. */
import type { NodeDescription } from '../../src/kubelet/describe-node/contracts.js';
import { useCell } from '../cell.js';
import type { ViewProps } from '../frame.js';
import { amountOf, resourceText } from '../parts/amounts.js';
import { Scroll } from '../parts/scroll.js';

export interface Capacity {
  readonly capacity: number | undefined;
  readonly requested: number | undefined;
}

export function capacityOf(description: NodeDescription | undefined, resource: string): Capacity | undefined {
  const found = description?.resources.find(({ name }) => name === resource);
  return found && { capacity: amountOf(found.capacity), requested: amountOf(found.requested) };
}

export function NodeResources({ usage, description }: ViewProps & { readonly description: NodeDescription }) {
  const summary = useCell(usage.latest);
  const used: Readonly<Record<string, number | undefined>> = {
    cpu: summary?.node.cpu?.usageNanoCores === undefined ? undefined : summary.node.cpu.usageNanoCores / 1e9,
    memory: summary?.node.memory?.workingSetBytes,
    'ephemeral-storage': summary?.node.fs?.usedBytes,
    pods: summary?.pods.length,
  };
  const columns = ['Capacity', 'Allocatable', 'Given', 'Used', 'Free'] as const;
  return (
    <Scroll label="Resources of the node">
      <table>
        <thead>
          <tr>
            <th scope="col">Resource</th>
            {columns.map((text) => (
              <th key={text} scope="col" class="number">
                {text}
              </th>
            ))}
            <th scope="col">Given and used</th>
          </tr>
        </thead>
        <tbody>
          {description.resources.map(({ name, capacity, allocatable, requested, free }) => {
            const all = amountOf(capacity) ?? 0;
            const text = (quantity: string): string => {
              const amount = amountOf(quantity);
              return amount === undefined ? quantity : resourceText(name, amount);
            };
            const usedNow = used[name];
            return (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="number">{text(capacity)}</td>
                <td class="number">{text(allocatable)}</td>
                <td class="number">{text(requested)}</td>
                <td class="number">{usedNow === undefined ? '–' : resourceText(name, usedNow)}</td>
                <td class="number">{text(free)}</td>
                <td>
                  <Bar given={part(amountOf(requested), all)} used={part(usedNow, all)} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}

function part(amount: number | undefined, all: number): number | undefined {
  return amount === undefined || all === 0 ? undefined : Math.min(1, Math.max(0, amount / all));
}

function Bar({ given, used }: { readonly given: number | undefined; readonly used: number | undefined }) {
  const percent = (value: number | undefined): string => `${((value ?? 0) * 100).toFixed(0)}%`;
  if (given === undefined && used === undefined) return null;
  const words = [
    ...(given === undefined ? [] : [`${percent(given)} given`]),
    ...(used === undefined ? [] : [`${percent(used)} used`]),
  ].join(', ');
  return (
    <div class="bar" role="img" aria-label={words} title={words}>
      <span class="given" style={{ width: percent(given) }} />
      <span class="used" style={{ width: percent(used) }} />
    </div>
  );
}
