/** Container ids in the API: `<runtime>://<id>`. */

export function apiContainerId(runtimeName: string, id: string): string {
  return `${runtimeName}://${id}`;
}

/** The runtime's id, from an id of the API or of the runtime. */
export function runtimeContainerId(containerId: string): string {
  const separator = containerId.indexOf('://');
  return separator < 0 ? containerId : containerId.slice(separator + 3);
}
