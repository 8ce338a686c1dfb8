import { Readable } from 'node:stream';
import { type Command, Option } from 'commander';
import { MirrorError } from '../../core/model/errors.ts';
import { isJsonObject, type JsonObject } from '../../described-api/paths.ts';
import { withRemedy } from '../../messages/message.ts';
import type { ClinicAccess, ClinicRows, PreviewedRequest } from '../control/clinic.ts';
import { CLINIC_RESOURCES, CLINIC_WRITES, type ClinicQuestion, operationOf } from '../control/clinic-question.ts';
import type { Acting } from '../control/recording.ts';
import { type Asked, wholeNumber } from './output.ts';
import { renderTable, wrap } from './table.ts';

/** Functions that the command line supplies to the clinic commands. */
interface ClinicCommands {
  /** Opens the clinic of a tenant for the work, then closes the clinic. */
  withClinic(tenant: string, work: (access: ClinicAccess, acting: Acting) => Promise<void>): Promise<void>;
  /** Returns the text of a file, or of standard input. */
  read(file: string | undefined): Promise<string>;
  write(file: string, content: string | Readable): Promise<void>;
  out(text: string): void;
  err(text: string): void;
  signal: AbortSignal;
}

/** Default number of rows. */
const SHOWN = 50;
/** Largest number of skipped rows that the output lists. */
const NAMED_ROWS = 5;

interface Choice extends Asked {
  raw?: boolean;
  params?: string;
  write?: string;
  data?: string;
  yes?: boolean;
  pdf?: string;
  doctors?: boolean;
}

/** Adds `clinic show`, the default command of `clinic <tenant>`. */
export function addClinic(clinic: Command, options: ClinicCommands): void {
  const write = new Option('--write <verb>', 'change data; without --yes only shows the request');
  clinic
    .command('show <tenant> <resource> [ids...]', { isDefault: true })
    .description(`show or change clinic data: ${CLINIC_RESOURCES.join(', ')}`)
    .option(
      '--params <source>',
      "query parameters of a list as JSON, with the clinic's names: @file, or - for standard input",
    )
    .option('--limit <count>', `maximum number of list records; default: ${SHOWN}; 0: every record`, wholeNumber)
    .option('--all', 'every record of a list')
    .option('--raw', 'print the original JSON of the clinic')
    .option('--json', 'print JSON')
    .addOption(write.choices(CLINIC_WRITES))
    .option(
      '--data <json>',
      'values as JSON, with clinic-mirror names: @file, or - for standard input; times as 2026-03-20T10:00:00+01:00',
    )
    .option('--yes', 'send the request')
    .option('--pdf <file>', 'output file for the PDF of a record; with --write create, the PDF to upload')
    .option('--doctors', 'for an invoice: doctors of the services in each line')
    .action((tenant: string, resource: string, ids: string[], choice: Choice) =>
      options.withClinic(tenant, (access, acting) => act(access, acting, { resource, ids, choice }, options)),
    );
}

async function act(
  access: ClinicAccess,
  acting: Acting,
  { resource, ids, choice }: { resource: string; ids: string[]; choice: Choice },
  options: ClinicCommands,
): Promise<void> {
  const { err, out, signal } = options;
  const { previewWrite, readClinicPdf, readInvoiceDoctors } = await import('../control/clinic.ts');
  const { writeClinic } = await import('../control/acts.ts');
  const verb = choice.write ?? 'read';
  const values = await dataOf(choice, options);
  const parameters = await parametersOf(choice, options);
  const question = { resource, verb, ids, values, parameters, pdf: choice.pdf ?? null };
  if (choice.write !== undefined) {
    const shown = choice.yes === true ? null : await previewWrite(access, question, signal);
    if (shown !== null)
      return out(choice.json === true ? JSON.stringify({ sent: false, ...shown }, null, 2) : renderPreview(shown));
    const record = await writeClinic(acting, access, question, signal);
    return out(choice.json === true ? JSON.stringify(record, null, 2) : renderRecords([record], true));
  }
  err('The output contains clinic and patient data: store it only where patient data is allowed.');
  if (choice.pdf !== undefined) {
    const { chunks } = await readClinicPdf(access, question, signal);
    await options.write(choice.pdf, Readable.from(chunks));
    return err(`PDF saved: ${choice.pdf}.`);
  }
  if (choice.doctors === true) {
    const rows = await readInvoiceDoctors(access, question, signal);
    return out(choice.json === true ? JSON.stringify(rows, null, 2) : renderRecords(rows, false));
  }
  await show(access, question, choice, options);
}

async function show(
  access: ClinicAccess,
  question: ClinicQuestion,
  { json, raw, all, limit = SHOWN }: Choice,
  { out, err, signal }: ClinicCommands,
): Promise<void> {
  const { readClinic, readClinicRaw } = await import('../control/clinic.ts');
  const pages = raw === true ? readClinicRaw(access, question, signal) : readClinic(access, question, signal);
  const isSingle = isRead(question);
  const most = all !== true && limit > 0 ? limit : Number.POSITIVE_INFINITY;
  const asides: ClinicRows['unusable'][number][] = [];
  const shownRecords: JsonObject[] = [];
  let count = 0;
  let hasMore = false;
  for await (const { records, unusable } of pages) {
    asides.push(...unusable);
    const wanted = records.slice(0, most - count);
    for (const [index, record] of wanted.entries()) {
      if (json !== true && raw !== true) shownRecords.push(record);
      else if (isSingle) out(JSON.stringify(record, null, 2));
      else out(`${count + index === 0 ? '[' : ','}\n${JSON.stringify(record)}`);
    }
    count += wanted.length;
    hasMore = wanted.length < records.length;
    if (hasMore || (count >= most && !isSingle)) break;
  }
  if (json !== true && raw !== true) out(renderRecords(shownRecords, isSingle));
  else if (!isSingle) out(count === 0 ? '[]' : ']');
  if (hasMore || (count >= most && !isSingle)) err(`Shown: ${count}. More records may exist (--limit, --all).`);
  for (const { recordId, code, field } of asides.slice(0, NAMED_ROWS)) {
    err(wrap(`Skipped: ${recordId ?? 'record without id'}, ${code} in ${field}.`));
  }
  if (asides.length > NAMED_ROWS) err(`Skipped records in total: ${asides.length}.`);
}

function isRead(question: ClinicQuestion): boolean {
  return operationOf(question).name.endsWith('.read');
}

/**
 * Refuses patient data in arguments. Filters and written values are patient data. All users of the host can read arguments, and shells
 * store arguments in their history.
 */
function requireElsewhere(option: string, source: string): void {
  if (!isElsewhere(source)) throw unusableOption('data-in-arguments', option);
}

function isElsewhere(source: string): boolean {
  return source === '-' || source.startsWith('@');
}

async function jsonOf(source: string, { read }: Pick<ClinicCommands, 'read'>): Promise<unknown> {
  const text = isElsewhere(source) ? await read(source === '-' ? undefined : source.slice(1)) : source;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function dataOf(
  { data, write }: Choice,
  options: Pick<ClinicCommands, 'read'>,
): Promise<JsonObject | JsonObject[]> {
  if (data === undefined) return {};
  if (write !== undefined) requireElsewhere('--data', data);
  const value = await jsonOf(data, options);
  if (isJsonObject(value)) return value;
  if (Array.isArray(value) && value.length > 0 && value.every(isJsonObject)) return value;
  throw unusableOption('bad-data', '--data');
}

/** Returns names and values of query parameters. A list of values repeats the name for each value. */
async function parametersOf({ params }: Choice, options: Pick<ClinicCommands, 'read'>): Promise<[string, string][]> {
  if (params === undefined) return [];
  requireElsewhere('--params', params);
  const value = await jsonOf(params, options);
  const pairs = isJsonObject(value)
    ? Object.entries(value).flatMap(([name, entry]) => [entry].flat().map((one) => [name, one] as const))
    : [];
  if (pairs.length > 0 && pairs.every(([, one]) => ['string', 'number', 'boolean'].includes(typeof one))) {
    return pairs.map(([name, one]) => [name, String(one)]);
  }
  throw unusableOption('bad-data', '--params');
}

function unusableOption(code: 'bad-data' | 'data-in-arguments', option: string): MirrorError {
  const [text, remedy] = withRemedy(code, { option });
  return new MirrorError(text, { actor: 'settings', code, retry: 'never', remedy });
}

/** Largest number of columns of a list. */
const MOST_COLUMNS = 7;

/** Renders records as a table: the first non-empty fields of a list, or every field of a single record. */
function renderRecords(records: readonly object[], isSingle: boolean): string {
  const [first] = records;
  if (first === undefined) return 'No records found.';
  if (isSingle) {
    const rows = Object.entries(first).map(([name, value]) => [name, cell(value)]);
    return renderTable(['field', 'value'], rows);
  }
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const filled = names
    .filter((name) => records.some((record) => isPlain(memberOf(record, name))))
    .slice(0, MOST_COLUMNS);
  const rows = records.map((record) => filled.map((name) => cell(memberOf(record, name))));
  return renderTable(filled, rows);
}

/** Renders a request that waits for confirmation. */
function renderPreview({ method, path, body, file }: PreviewedRequest): string {
  const shown = body === null ? '' : `\n${JSON.stringify(body, null, 2)}`;
  const carried = file === null ? '' : `\n${wrap(`Attached file: ${file.name}, ${file.sizeBytes} bytes.`)}`;
  return `${wrap(`Request: ${method} ${path}`)}${shown}${carried}\nNothing was changed. Add --yes to send the request.`;
}

function memberOf(record: object, name: string): unknown {
  return Object.hasOwn(record, name) ? Reflect.get(record, name) : undefined;
}

function isPlain(value: unknown): boolean {
  return value !== null && value !== undefined && typeof value !== 'object';
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '–';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
