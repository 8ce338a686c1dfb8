import { Argument, type Command, Option } from 'commander';
import { z } from 'zod';
import { MirrorError } from '../model/errors.ts';
import type { AnyOperation, CommandBinding, OperationContext, OptionBinding } from '../operations/operation.ts';
import { OPERATIONS, type OperationName } from '../operations/operations.ts';
import { type Asked, type Print, paged, wholeNumber, zoneOf } from './answer.ts';
import { OPERATION_REMARKS, OPERATION_SENTENCES, OPERATION_TEXTS, type OperationText } from './operation-texts.ts';
import type { CliOutside, GlobalOptions, OpenInstallation } from './outside.ts';

/** What the commands of operations need of the command line. */
export interface OperationCommands {
  outside: CliOutside;
  options(): GlobalOptions;
  print: Print;
}

type Binding = CommandBinding<Record<string, unknown>>;
type AnyText = OperationText<unknown, unknown>;

/** What stands above the commands that begin with one word. */
const ABOUT_GROUPS: Readonly<Record<string, string>> = {
  access: 'who may look at the pages and call the API',
  logins: 'look after logins',
  links: 'links that were made with login --link, and that nobody has opened',
  tenants: 'where tenants are configured, and those that no file configures',
  token: 'tokens by which programs call the API',
  holds: 'decide deletions that were held back',
  feeds: 'calendars that others fetch: their addresses, and who fetched',
  reminders: 'what patients are reminded of, and why or why not',
  triggers: 'what receivers are told of reports, invoices and appointments',
};

/** Adds the commands of all operations whose first word is this one. */
export function addOperations(program: Command, given: OperationCommands, ...firstWords: string[]): void {
  for (const [name, operation] of Object.entries(OPERATIONS as Record<string, AnyOperation>)) {
    for (const binding of operation.commands) {
      if (firstWords.includes(binding.words.split(' ')[0] ?? ''))
        addOperation(program, given, name, operation, binding);
    }
  }
}

function addOperation(
  program: Command,
  given: OperationCommands,
  name: string,
  operation: AnyOperation,
  binding: Binding,
): void {
  const words = binding.words.split(' ').filter((word) => !/^[<[]/.test(word));
  const names = [...binding.words.matchAll(/[<[](\w+)(?:\.\.\.)?[>\]]/g)].map(([, field = '']) => field);
  const parent = words.slice(0, -1).reduce(groupOf, program);
  const command = parent.command(words.at(-1) ?? '', { isDefault: binding.isDefault === true });
  command.description(binding.about ?? operation.summary);
  for (const [argument] of binding.words.matchAll(/[<[]\w+(?:\.\.\.)?[>\]]/g))
    command.addArgument(argumentOf(argument, operation));
  const read = [binding.stdin, binding.file];
  const taken = new Set([...names, ...read, ...Object.keys(binding.fixed ?? {}), 'after', 'limit']);
  const fields = Object.keys(operation.input.shape).filter((field) => !taken.has(field));
  for (const field of fields) command.addOption(optionOf(field, operation, binding.options?.[field] ?? {}));
  if (binding.isList === true || 'limit' in operation.input.shape) paged(command);
  command.option('--json', 'as JSON');
  command.action(async (...args: unknown[]) => {
    const asked = args[names.length] as Asked & Record<string, unknown>;
    const values = Object.fromEntries(names.map((field, index) => [field, args[index]]));
    await runOperation(
      given,
      { name: name as OperationName, operation, binding },
      { ...values, ...pick(asked, fields) },
      asked,
    );
  });
}

async function runOperation(
  { outside, options, print }: OperationCommands,
  { name, operation, binding }: { name: OperationName; operation: AnyOperation; binding: Binding },
  typed: Record<string, unknown>,
  asked: Asked,
): Promise<void> {
  const wanted = { ...options(), ...(binding.isOfOneTenant === true ? { only: String(typed.tenant) } : {}) };
  const text = (OPERATION_SENTENCES[name] ?? (await OPERATION_TEXTS[name]?.())) as AnyText;
  const remark = OPERATION_REMARKS[name] as AnyText | undefined;
  await outside.withInstallation(wanted, async (open) => {
    const input = inputOf(operation, { ...(await readFiles(outside, binding, typed)), ...binding.fixed }, asked);
    const progress = outside.progress();
    const context = await contextOf(open, { progress, signals: { stop: outside.signal, abort: outside.signal } });
    const result = await operation.run(input, context).finally(() => progress.end());
    const zone = zoneOf(open.installation, typeof input.tenant === 'string' ? input.tenant : undefined);
    const shown = operation.output.parse(result) as object;
    const words = remark?.(result, input) ?? '';
    if (words !== '') outside.err(words);
    print(asked, shown, () => text(result, input), zone);
    if (operation.endsWithOne?.holds(result, input) === true) outside.exit(1);
    if (operation.endsWithTwo?.(result) === true) outside.exit(2);
  });
}

/** What was typed, with the texts of standard input and of files in the fields that they are for. */
async function readFiles(
  outside: CliOutside,
  { stdin, file: document, options = {} }: Binding,
  typed: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const read = { ...typed };
  if (stdin !== undefined) read[stdin] = (await outside.read(undefined)).trim();
  if (document !== undefined) {
    read[document] = await outside.read(read.file as string | undefined);
    delete read.file;
  }
  for (const [field, option] of Object.entries(options)) {
    const file = read[field];
    if (option?.fromFile !== undefined && typeof file === 'string')
      read[field] = await option.fromFile(await outside.read(file));
  }
  return read;
}

/** An operation takes all of a list from a command. @throws MirrorError `settings`, code `request-invalid` */
function inputOf(
  { input }: AnyOperation,
  typed: Record<string, unknown>,
  { limit, all }: Asked,
): Record<string, unknown> {
  const { success, data, error } = input.safeParse(typed);
  if (!success) {
    const [{ path, message } = { path: [], message: '' }] = error.issues;
    throw new MirrorError(`${path.join('.')}: ${message}`, {
      ...{ actor: 'settings', code: 'request-invalid', retry: 'never' },
      remedy: 'add --help to see what the command takes',
    });
  }
  if (!('limit' in input.shape)) return data;
  const isPaged = 'after' in input.shape;
  const most = isPaged || all === true ? Number.MAX_SAFE_INTEGER : (limit ?? data.limit);
  return { ...data, limit: most };
}

/** What an operation is run with by whoever may run commands: as an owner of all tenants. */
export async function contextOf(
  open: OpenInstallation,
  rest: Pick<OperationContext, 'progress' | 'signals'>,
): Promise<OperationContext> {
  const { openStatuses } = await import('../control/statuses.ts');
  const { acting, desk, ...services } = open;
  return {
    services: { ...services, logins: desk, statuses: openStatuses() },
    ...{ acting, rights: { level: 'owner', tenants: null } },
    ...rest,
  };
}

function groupOf(parent: Command, word: string): Command {
  const known = parent.commands.find((command) => command.name() === word);
  return known ?? parent.command(word).description(ABOUT_GROUPS[word] ?? '');
}

function argumentOf(words: string, { input }: AnyOperation): Argument {
  const schema = input.shape[words.replaceAll(/[<>[\].]/g, '')] as z.ZodType | undefined;
  const argument = new Argument(
    words,
    schema?.description ?? (words === '[file]' ? 'its document; else standard input' : ''),
  );
  if (schema instanceof z.ZodEnum) argument.choices(schema.options.map(String));
  return argument;
}

function optionOf(field: string, { input }: AnyOperation, { flags, about, preset }: OptionBinding): Option {
  const schema = input.shape[field] as z.ZodType;
  const inner = withoutDefault(schema);
  const name = field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const value = inner instanceof z.ZodBoolean ? '' : ` <${inner instanceof z.ZodNumber ? 'count' : name}>`;
  const described = about ?? schema.description ?? '';
  const option = new Option(flags ?? `--${name}${value}`, `${described.charAt(0).toLowerCase()}${described.slice(1)}`);
  option.attributeName = () => field;
  if (preset !== undefined) option.preset(preset);
  if (inner instanceof z.ZodEnum) option.choices(inner.options.map(String));
  if (inner instanceof z.ZodNumber) option.argParser(wholeNumber);
  if (inner instanceof z.ZodBoolean) option.default(false);
  else if (!schema.safeParse(undefined).success) option.makeOptionMandatory();
  return option;
}

function withoutDefault(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) {
    return withoutDefault(schema.unwrap() as z.ZodType);
  }
  return schema;
}

function pick(values: Record<string, unknown>, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(fields.flatMap((field) => (values[field] === undefined ? [] : [[field, values[field]]])));
}
