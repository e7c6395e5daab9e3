/** Which container of a pod is meant. */
import { containersOf } from '../../src/cli/client/containers-of.js';
import type { Pod } from '../../src/kube/types/index.js';

export function containerNames(pod: Pod | undefined): string[] {
  return pod === undefined ? [] : containersOf(pod).map(({ name }) => name);
}

export interface ContainerChoiceProps {
  readonly pod: Pod | undefined;
  readonly value: string;
  readonly onChange: (name: string) => void;
}

export function ContainerChoice({ pod, value, onChange }: ContainerChoiceProps) {
  return (
    <label>
      Container{' '}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {containerNames(pod).map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
