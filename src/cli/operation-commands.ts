import { Argument, type Command, Option } from 'commander';
import { z } from 'zod';
import {
  type AnyOperation,
  type CommandBinding,
  inputOf,
  type OperationContext,
  type OptionBinding,
} from '../operations/operation.ts';
import { OPERATIONS } from '../operations/operations.ts';
import { type Asked, type Print, paged, wholeNumber, zoneOf } from './answer.ts';
import { OPERATION_TEXTS, type OperationText } from './operation-texts.ts';
import type { CliOutside, GlobalOptions, OpenInstallation } from './outside.ts';

/** What the commands of operations need of the command line. */
interface OperationCommands {
  outside: CliOutside;
  options(): GlobalOptions;
  print: Print;
  /** Default: all. */
  operations?: Record<string, AnyOperation>;
}

type Binding = CommandBinding<Record<string, unknown>>;

/** What stands above the commands that begin with one word. */
const ABOUT_GROUPS: Readonly<Record<string, string>> = {
  holds: 'decide deletions that were held back',
  feeds: 'calendars that others fetch: their addresses, and who fetched',
  reminders: 'what patients are reminded of, and why or why not',
  'audit-log': 'what persons did, when and why',
  triggers: 'what receivers are told of reports, invoices and appointments',
};

/** Adds the commands of all operations whose first word is this one. */
export function addOperations(program: Command, given: OperationCommands, ...firstWords: string[]): void {
  const { operations = OPERATIONS as Record<string, AnyOperation> } = given;
  for (const [name, operation] of Object.entries(operations)) {
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
  const taken = new Set([...names, ...Object.keys(binding.fixed ?? {}), binding.stdin, 'after', 'limit', 'ifMatch']);
  const fields = Object.keys(operation.input.shape).filter((field) => !taken.has(field));
  for (const field of fields) command.addOption(optionOf(field, operation, binding.options?.[field] ?? {}));
  if (binding.isList === true || 'limit' in operation.input.shape) paged(command, binding.options?.limit?.about);
  if (binding.isText !== true) command.option('--json', 'as JSON');
  command.action(async (...args: unknown[]) => {
    const asked = args[names.length] as Asked & Record<string, unknown>;
    const values = Object.fromEntries(names.map((field, index) => [field, args[index]]));
    await runOperation(given, { name, operation, binding }, { ...values, ...pick(asked, fields) }, asked);
  });
}

async function runOperation(
  { outside, options, print }: OperationCommands,
  { name, operation, binding }: { name: string; operation: AnyOperation; binding: Binding },
  typed: Record<string, unknown>,
  asked: Asked,
): Promise<void> {
  const { isOfOneTenant = false, tellsRefused = false, stdin } = binding;
  const wanted = {
    ...{ ...options(), tellsRefused },
    ...(isOfOneTenant && typeof typed.tenant === 'string' ? { only: typed.tenant } : {}),
  };
  const text = await OPERATION_TEXTS[name as keyof typeof OPERATION_TEXTS]?.();
  await outside.withInstallation(wanted, async (open) => {
    const read = stdin === undefined ? {} : { [stdin]: (await outside.read(undefined)).trim() };
    for (const [field, option] of Object.entries(binding.options ?? {})) {
      const file = typed[field];
      if (option?.fromFile !== undefined && typeof file === 'string')
        typed[field] = option.fromFile(await outside.read(file));
    }
    const fields = { ...typed, ...read, ...binding.fixed };
    const input = limited(inputOf(operation, fields, 'add --help to see what the command takes'), operation, asked);
    const progress = outside.progress();
    const context = await contextOf(open, { progress, signals: { stop: outside.signal, abort: outside.signal } });
    const result = await operation.run(input, context).finally(() => progress.end());
    const zone = zoneOf(open.installation, typeof input.tenant === 'string' ? input.tenant : undefined);
    const shown = operation.output.parse(result) as Record<string, unknown>;
    const jsonFields = binding.jsonFields?.(input) ?? null;
    print(
      asked,
      jsonFields === null ? shown : pick(shown, jsonFields),
      () => (text as OperationText<unknown, unknown>)(result, input),
      zone,
    );
    if (operation.endsWithOne?.holds(result, input) === true) outside.exit(1);
  });
}

/** Of a list without pages a person may want fewer or all. */
function limited(input: Record<string, unknown>, { input: { shape } }: AnyOperation, { limit, all }: Asked) {
  if (!('limit' in shape) || 'after' in shape) return input;
  return { ...input, limit: all === true ? Number.MAX_SAFE_INTEGER : (limit ?? input.limit) };
}

/** What an operation is run with by whoever runs commands. */
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
  const argument = new Argument(words, schema?.description);
  if (schema instanceof z.ZodEnum) argument.choices(schema.options.map(String));
  return argument;
}

function optionOf(field: string, { input }: AnyOperation, { flags, about, preset }: OptionBinding): Option {
  const schema = input.shape[field] as z.ZodType;
  const inner = withoutDefault(schema);
  const name = field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const value = inner instanceof z.ZodBoolean ? '' : ` <${inner instanceof z.ZodNumber ? 'count' : name}>`;
  const option = new Option(flags ?? `--${name}${value}`, helpOf(about ?? schema.description));
  option.attributeName = () => field;
  if (preset !== undefined) option.preset(preset);
  if (inner instanceof z.ZodEnum) option.choices(inner.options.map(String));
  if (inner instanceof z.ZodNumber) option.argParser(wholeNumber);
  if (inner instanceof z.ZodBoolean) option.default(false);
  else if (!schema.safeParse(undefined).success) option.makeOptionMandatory();
  return option;
}

/** A description as help has it. */
function helpOf(description = ''): string {
  return `${description.charAt(0).toLowerCase()}${description.slice(1)}`;
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
