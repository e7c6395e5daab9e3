/** The refusal of an apply that would take fields from other managers. */
import { ApiError } from '../../kube-client/api-error.js';
import type { ManagerConflict } from './decide.js';
import { fieldPaths } from './field-set.js';
import type { ManagedSet } from './managers.js';

const mostCauses = 1000;

export function conflictError(conflicts: readonly ManagerConflict[]): ApiError {
  const told = conflicts.map(({ manager, fields }) => ({
    who: managerText(manager),
    paths: fieldPaths(fields),
  }));
  const count = told.reduce((sum, { paths }) => sum + paths.length, 0);
  const parts = told.map(({ who, paths }) => {
    const [only = ''] = paths;
    return paths.length === 1
      ? `conflict with ${who}: ${only}`
      : `conflicts with ${who}:\n${paths.map((path) => `- ${path}`).join('\n')}`;
  });
  const causes = told
    .flatMap(({ who, paths }) =>
      paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field })),
    )
    .slice(0, mostCauses);
  return new ApiError({
    code: 409,
    reason: 'Conflict',
    message: `Apply failed with ${count} conflict${count === 1 ? '' : 's'}: ${parts.join('\n')}`,
    details: { causes },
  });
}

function managerText({ manager, operation, apiVersion, subresource }: ManagedSet): string {
  const where = subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`;
  return `${JSON.stringify(manager)}${where}${operation === 'Apply' ? '' : ` using ${apiVersion}`}`;
}
