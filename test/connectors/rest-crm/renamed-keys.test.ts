import { describe, expect, test } from 'vitest';
import { settingsSchema } from '../../../src/connectors/rest-crm/schemas.ts';
import { render, textOfIssue } from '../../../src/messages/message.ts';

/** Faults of a description over the profile of EspoCRM. */
function faultsOf(description: object): string[] {
  const settings = { baseUrl: 'https://crm.example.com/api', profile: 'espocrm', description };
  const issues = settingsSchema.safeParse(settings).error?.issues ?? [];
  return issues.map(({ path, message }) => `${path.join('.')}: ${render(textOfIssue(message))}`);
}

const patients = (change: object) => ({ streams: { patients: change } });
const PAGING = 'streams.patients.list.paging';

describe('a key with an earlier name is refused with its present name', () => {
  test.each<[string, object, string]>([
    ['errors.code', { errors: { code: ['code'] } }, 'codePaths'],
    ['errors.fields', { errors: { fields: ['field'] } }, 'detailPaths'],
    ['streams.patients.find.rows', patients({ find: { rows: 'list' } }), 'listPath'],
    ['streams.patients.get.row', patients({ get: { row: 'data' } }), 'recordPath'],
    ['streams.patients.create.row', patients({ create: { row: '' } }), 'recordPath'],
    ['streams.patients.update.row', patients({ update: { row: null } }), 'recordPath'],
    ['streams.patients.upsert.rows', patients({ upsert: { rows: 'data' } }), 'listPath'],
    ['streams.patients.deleteMany.rows', patients({ deleteMany: { rows: 'data' } }), 'listPath'],
    ['streams.invoices.list.rows', { streams: { invoices: { list: { rows: 'list' } } } }, 'listPath'],
    ['streams.patients.list.size', patients({ list: { size: 20 } }), 'paging.size'],
    [`${PAGING}.first`, patients({ list: { paging: { style: 'page-size', first: 0 } } }), 'startIndex'],
    [`${PAGING}.more`, patients({ list: { paging: { style: 'page-size', more: 'm' } } }), 'hasMorePath'],
    [`${PAGING}.total`, patients({ list: { paging: { style: 'page-size', total: 't' } } }), 'totalPath'],
    [`${PAGING}.next`, patients({ list: { paging: { style: 'cursor', next: 'n' } } }), 'cursorPath'],
    [`${PAGING}.by`, patients({ list: { paging: { by: 'none' } } }), 'style: none'],
    [`${PAGING}.by`, patients({ list: { paging: { by: 'offset' } } }), 'style: offset-limit'],
    [`${PAGING}.by`, patients({ list: { paging: { by: 'page' } } }), 'style: page-size'],
    [`${PAGING}.by`, patients({ list: { paging: { by: 'cursor' } } }), 'style: cursor'],
    [`${PAGING}.by`, patients({ list: { paging: { by: 'sideways' } } }), 'style'],
  ])('%s in %j', (path, description, spelling) => {
    expect(faultsOf(description)).toEqual([
      `description.${path}: write ${spelling} instead: this key has the name that clinic profiles use`,
    ]);
  });

  test('paging by a link, with the place of the link', () => {
    expect(faultsOf(patients({ list: { paging: { by: 'link', next: 'links.next' } } }))).toEqual([
      expect.stringContaining(`description.${PAGING}.by: write style: next-link instead`),
      expect.stringContaining(`description.${PAGING}.next: write linkPath instead`),
    ]);
    expect(faultsOf(patients({ list: { paging: { by: 'link', next: 'header' } } }))).toEqual([
      expect.stringContaining(`description.${PAGING}.by: write style: link-header instead`),
      expect.stringContaining(`description.${PAGING}.next: write style: link-header instead`),
    ]);
  });

  test('every key at once', () => {
    const description = { errors: { code: ['code'] }, ...patients({ list: { rows: 'list', size: 20 } }) };
    expect(faultsOf(description)).toHaveLength(3);
  });
});

test('an empty path of the response is refused with the present spelling', () => {
  expect(faultsOf(patients({ find: { listPath: '' } }))).toEqual([
    expect.stringMatching(/^description\.streams\.patients\.find\.listPath: .* or a dot for the whole answer$/),
  ]);
});

test('a key of another place keeps its name', () => {
  expect(faultsOf(patients({ find: { size: 20 }, row: { versionTag: 'modifiedAt' } }))).toEqual([]);
});
