/** Container ids as the API writes them: `<runtime>://<id>`. */

export function apiContainerId(runtimeName: string, id: string): string {
  return `${runtimeName}://${id}`;
}

/** The runtime's id of a container that the API or the runtime names. */
export function runtimeContainerId(containerId: string): string {
  const separator = containerId.indexOf('://');
  return separator < 0 ? containerId : containerId.slice(separator + 3);
}
