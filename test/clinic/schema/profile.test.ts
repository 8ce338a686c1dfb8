import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { clinicProfileSchema } from '../../../src/clinic/schema/profile.ts';
import { render, textOfIssue } from '../../../src/messages/message.ts';

const folder = new URL('../../../config/profiles/', import.meta.url);

function read(name: string): unknown {
  return parse(readFileSync(new URL(name, folder), 'utf8'));
}

function messagesOf(profile: unknown): string[] {
  const result = clinicProfileSchema.safeParse(profile);
  return result.error?.issues.map((issue) => `${issue.path.join('.')}: ${render(textOfIssue(issue.message))}`) ?? [];
}

describe('clinic profiles', () => {
  it.each(readdirSync(folder).filter((name) => name.endsWith('.yaml')))('%s is a valid profile', (name) => {
    expect(messagesOf(read(name))).toEqual([]);
  });

  it('the documented profile spells out exactly the defaults', () => {
    expect(clinicProfileSchema.parse(read('documented.yaml'))).toEqual(clinicProfileSchema.parse({}));
  });

  it('a page shorter than asked for is no proof as long as the cap is unknown', () => {
    const paging = { style: 'page-size', ends: ['short-page'] };
    expect(messagesOf({ paging })).toEqual([expect.stringContaining('paging.ends: short-page requires cap')]);
    expect(messagesOf({ paging: { ...paging, cap: 100 } })).toEqual([]);
  });

  it.each([
    ['an unknown key', { pagging: {} }, 'Unrecognized key: "pagging"'],
    ['an unknown field', { agendas: { fields: { nome: ['name'] } } }, 'Unrecognized key: "nome"'],
    ['a zone that does not exist', { zone: 'Europe/Roma' }, 'zone: set an IANA time zone'],
    ['a zone by its Windows name', { zone: 'W. Europe Standard Time' }, 'zone: did you mean Europe/Berlin?'],
    ['a broken pattern', { errors: { missingClaim: ['('] } }, 'use a regular expression'],
    ['an unknown status', { appointments: { statuses: { Done: 'finished' } } }, 'appointments.statuses.Done'],
    [
      'a rule that the style can not follow',
      { paging: { style: 'offset-limit', ends: ['no-next'] } },
      'no-next is for',
    ],
    [
      'a header without a name',
      { paging: { style: 'cursor', cursorPath: 'header:' } },
      'or header: and the name of a header',
    ],
    ['three parts for a time', { appointments: { fields: { start: ['a + b + c'] } } }, 'date + time of day'],
    [
      'a rule without its field',
      { paging: { style: 'page-size', ends: ['total'], totalPath: null } },
      'requires totalPath',
    ],
  ])('refuses %s', (_what, profile, message) => {
    expect(messagesOf(profile).join('\n')).toContain(message);
  });
});
