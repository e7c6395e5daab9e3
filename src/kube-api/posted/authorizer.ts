/** Who may do what on a node of its own: its owners everything, everybody else only what tells about themselves. */
import type { ApiUser } from './contracts.js';

/** What somebody wants to do. */
export interface AccessRequest {
  /** Absent for a path that is no resource. */
  readonly resource?: string;
  readonly verb: string;
  readonly path?: string;
}

export interface AccessJudgement {
  readonly allowed: boolean;
  readonly reason: string;
}

export const ownersGroup = 'system:masters';
const authenticatedGroup = 'system:authenticated';
const openPaths = /^\/(healthz|livez|readyz|version|api|apis|openapi)(\/.*)?$/;
const ownReviews: ReadonlySet<string> = new Set([
  'selfsubjectaccessreviews',
  'selfsubjectrulesreviews',
  'selfsubjectreviews',
]);

export function decideAccess(user: ApiUser, { resource, verb, path = '' }: AccessRequest): AccessJudgement {
  if (user.groups.includes(ownersGroup))
    return { allowed: true, reason: `members of ${ownersGroup} may do everything` };
  if (user.groups.includes(authenticatedGroup)) {
    if (resource !== undefined && ownReviews.has(resource) && verb === 'create')
      return { allowed: true, reason: 'everybody may ask what they may do' };
    if (resource === undefined && verb === 'get' && openPaths.test(path))
      return { allowed: true, reason: 'everybody may ask what the API has' };
  }
  return { allowed: false, reason: `on this node only members of ${ownersGroup} may do this` };
}
