/** Resolves the port of an action. */
import { type Container, goQuote, type IntOrString } from '../kube/index.js';

/** A number, or the name of one of the container's ports. */
export function containerPort(port: IntOrString, container: Container): number {
  const found = typeof port === 'number' ? port : namedPort(port, container);
  if (found > 0 && found < 65_536) return found;
  throw new Error(`invalid port number: ${found}`);
}

function namedPort(name: string, container: Container): number {
  const found = container.ports?.find((port) => port.name === name)?.containerPort;
  if (found === undefined) throw new Error(`port ${goQuote(name)} not found`);
  return found;
}
