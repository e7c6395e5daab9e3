import { describe, expect, it } from 'vitest';
import { parseDockerConfigJson, parseDockercfg } from './docker-config.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('entries', () => {
  it.each<[string, object, object]>([
    ['username and password', { username: 'u', password: 'p' }, { username: 'u', password: 'p' }],
    ['auth', { auth: base64('u:p:q') }, { username: 'u', password: 'p:q' }],
    ['auth without padding', { auth: base64('u:pp').replace(/=+$/, '') }, { username: 'u', password: 'pp' }],
    ['auth wins', { auth: base64('u:p'), username: 'x', password: 'y' }, { username: 'u', password: 'p' }],
    ['email is kept', { auth: base64('u:p'), email: 'e@x' }, { username: 'u', password: 'p', email: 'e@x' }],
    ['unknown fields are ignored', { auth: base64('u:p'), more: 1 }, { username: 'u', password: 'p' }],
  ])('%s', (_, entry, expected) => {
    expect(parseDockercfg(JSON.stringify({ 'a.io': entry })).get('a.io')).toEqual(expected);
    expect(parseDockerConfigJson(JSON.stringify({ auths: { 'a.io': entry } })).get('a.io')).toEqual(expected);
  });

  it('a file without entries has none', () => {
    expect(parseDockerConfigJson('{"credsStore":"x"}').size).toBe(0);
  });

  it.each([
    ['no JSON', 'secret!', 'not a JSON text'],
    ['a list', '[]', 'the registries are not an object'],
    [
      'auth that is not a pair',
      JSON.stringify({ 'a.io': { auth: base64('hidden') } }),
      'unable to parse auth field of registry a.io',
    ],
    ['a password that is not text', '{"a.io":{"password":1}}', 'password of registry a.io is not a text'],
  ])('%s is rejected without being quoted', (_, text, message) => {
    expect(() => parseDockercfg(text)).toThrow(message);
    expect(() => parseDockercfg(text)).not.toThrow('hidden');
  });
});
