import { expect, it } from 'vitest';
import { actingUser } from './impersonation.js';

const owner = { name: 'owner', groups: ['system:masters', 'system:authenticated'] };
const account = {
  name: 'system:serviceaccount:default:robot',
  groups: ['system:serviceaccounts', 'system:authenticated'],
};

it.each([
  ['nobody is named', owner, {}, { kind: 'user', user: owner }],
  [
    'a person',
    owner,
    { 'impersonate-user': 'jane' },
    { kind: 'user', user: { name: 'jane', groups: ['system:authenticated'] } },
  ],
  [
    'a person of groups',
    owner,
    { 'impersonate-user': 'jane', 'impersonate-group': 'a, b' },
    { kind: 'user', user: { name: 'jane', groups: ['a', 'b', 'system:authenticated'] } },
  ],
  [
    'a service account',
    owner,
    { 'impersonate-user': 'system:serviceaccount:ns:robot' },
    {
      kind: 'user',
      user: {
        name: 'system:serviceaccount:ns:robot',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:ns', 'system:authenticated'],
      },
    },
  ],
  [
    'nobody known',
    owner,
    { 'impersonate-user': 'system:anonymous' },
    { kind: 'user', user: { name: 'system:anonymous', groups: ['system:unauthenticated'] } },
  ],
  ['groups without a user', owner, { 'impersonate-group': 'system:masters' }, { kind: 'refused' }],
  [
    'more than is supported',
    owner,
    { 'impersonate-user': 'jane', 'impersonate-extra-scopes': 'x' },
    { kind: 'refused' },
  ],
  [
    'an account that would be its owner',
    account,
    { 'impersonate-user': 'x', 'impersonate-group': 'system:masters' },
    { kind: 'refused' },
  ],
])('acts as %s', (_what, user, headers, acting) => {
  expect(actingUser(user, headers)).toMatchObject(acting);
});
