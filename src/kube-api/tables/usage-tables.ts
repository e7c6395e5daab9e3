/** The tables of what nodes and pods use. */
import { addQuantities, formatQuantity, parseQuantity, zeroQuantity } from '../../kube/values/quantity.js';
import type { NodeMetricsObject, PodMetricsObject } from '../usage/usage-kinds.js';
import { kindTable, type TableColumn, text } from './columns.js';

const columns: readonly TableColumn[] = [
  { ...text('cpu', 'CPU that it uses'), format: 'quantity' },
  { ...text('memory', 'Its working set'), format: 'quantity' },
  { ...text('Window', 'What the CPU is averaged over'), format: 'duration' },
];

export const nodeMetricsTable = kindTable<NodeMetricsObject>({
  columns,
  row: ({ usage: { cpu, memory }, window }) => [cpu, memory, window],
});

export const podMetricsTable = kindTable<PodMetricsObject>({
  columns,
  row: ({ containers, window }) => {
    const sum = (name: 'cpu' | 'memory'): string =>
      formatQuantity(
        containers.map(({ usage }) => parseQuantity(usage[name])).reduce(addQuantities, zeroQuantity),
      );
    return [sum('cpu'), sum('memory'), window];
  },
});
