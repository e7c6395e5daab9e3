/** Resolves the port of an action. */
import { type Container, goQuote, type IntOrString } from '../kube/index.js';

/** A number, the name of one of the container's ports, or a number as text. */
export function containerPort(port: IntOrString, container: Container): number {
  const found = typeof port === 'number' ? port : (namedPort(port, container) ?? numberOf(port));
  if (found > 0 && found < 65_536) return found;
  throw new Error(`invalid port number: ${found}`);
}

function namedPort(name: string, container: Container): number | undefined {
  return container.ports?.find((port) => port.name === name)?.containerPort;
}

function numberOf(text: string): number {
  if (/^[+-]?\d+$/.test(text)) return Number(text);
  throw new Error(`strconv.Atoi: parsing ${goQuote(text)}: invalid syntax`);
}
