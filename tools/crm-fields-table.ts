import { CRM_SOURCES, type CrmStream } from '../src/settings/crm-schema.ts';

const CONSENTS =
  "| `consents.<name>` | boolean |  | What the patient agreed to, by the clinic profile's `patients.consents` |";

/** Writes the fields of a stream that a CRM mapping can use. */
export function renderCrmFields(stream: CrmStream): string {
  const rows = Object.entries(CRM_SOURCES[stream]).map(
    ([path, { kind, sensitive, describe }]) => `| \`${path}\` | ${kind} | ${sensitive ? 'yes' : ''} | ${describe} |`,
  );
  const all = stream === 'patients' ? [...rows, CONSENTS] : rows;
  return ['| field | kind | sensitive | what |', '|---|---|---|---|', ...all].join('\n');
}
