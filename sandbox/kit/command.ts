import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

/** A sandbox as the command line starts it. */
export interface SandboxCommand {
  options: Readonly<Record<string, CommandOption>>;
  /** Throws UsageError for options that contradict each other. */
  start(given: Given): Promise<StartedSandbox>;
}

/** An option `--<name> <value>`; one whose default is a truth value is `--<name>`. */
export interface CommandOption {
  about: string;
  default: string | number | boolean;
  choices?: readonly string[];
}

/** A running sandbox, with the facts that its users and programs require. */
export interface StartedSandbox {
  /** URLs and credentials, in print order; names in camelCase. */
  facts: Readonly<Record<string, string>>;
  /** Facts for programs only, printed with `--json`. */
  more?: object;
  /** Lines for a shell that come before the example. */
  first?: readonly string[];
  /** A request that works at once. */
  example: ExampleRequest;
  /** Where the kit's admin routes are. */
  adminUrl: string;
  /** A fault that spoils the example; default: one answer 503. */
  fault?: object;
  /** Runs the order in a line of standard input, and returns the result. */
  order?(line: string): object;
  close(): Promise<void>;
}

/** A request that curl can send. */
export interface ExampleRequest {
  url: string;
  headers?: Readonly<Record<string, string>>;
  /** Makes it a POST. */
  body?: string;
}

/** The command line is wrong. The message says how. */
export class UsageError extends Error {}

/** The given options, or their defaults. */
export class Given {
  readonly #options: SandboxCommand['options'];
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(options: SandboxCommand['options'], values: Readonly<Record<string, unknown>>) {
    this.#options = options;
    this.#values = values;
  }

  text(name: string): string {
    return String(this.#value(name));
  }

  flag(name: string): boolean {
    return this.#value(name) === true;
  }

  /** A whole number. Throws UsageError. */
  number(name: string): number {
    const text = this.text(name);
    if (!/^\d{1,15}$/.test(text)) throw new UsageError(`--${name} must be a whole number`);
    return Number(text);
  }

  /** One of these names. Throws UsageError. */
  choice<Name extends string>(name: string, names: readonly Name[]): Name {
    const found = names.find((each) => each === this.text(name));
    if (found === undefined) throw new UsageError(`--${name} must be one of ${names.join(', ')}`);
    return found;
  }

  #value(name: string): unknown {
    return this.#values[name] ?? this.#options[name]?.default;
  }
}

/** Reads a command line against its options. Throws UsageError. */
export function readOptions(options: SandboxCommand['options'], args: readonly string[]): Given {
  try {
    const known = Object.entries(options).map(([name, option]) => [
      name,
      { type: typeof option.default === 'boolean' ? 'boolean' : 'string' } as const,
    ]);
    const { values } = parseArgs({ args: [...args], options: Object.fromEntries(known), strict: true });
    return new Given(options, values);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** The options as `--help` shows them, a line each. */
export function describeOptions(options: SandboxCommand['options']): string {
  const lines = Object.entries(options).map(([name, { about, default: usual, choices }]) => {
    const value = typeof usual === 'boolean' ? '' : ' <value>';
    const oneOf = choices === undefined ? '' : `: ${choices.join(', ')}`;
    const usually = typeof usual === 'boolean' ? '' : ` (${usual === '' ? 'none' : usual})`;
    return [`--${name}${value}`, `${about}${oneOf}${usually}`] as const;
  });
  return table(lines);
}

/** What is printed once a sandbox runs. */
export function describeStart(name: string, started: StartedSandbox): string {
  const facts = Object.entries(started.facts).map(([fact, value]) => [spaced(fact), value] as const);
  const fault = started.fault ?? { times: 1, fault: { kind: 'status', status: 503 } };
  const spoil = {
    url: `${started.adminUrl}/__sandbox/faults`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fault),
  };
  return `The sandbox ${name} runs.

${table(facts)}

Try it:
${[...(started.first ?? []), curl(started.example)].map((line) => `  ${line}\n`).join('')}
Spoil the next request:
  ${curl(spoil)}

Faults, options and what it does not do: sandbox/${name}/README.md. Ctrl-C ends it.
`;
}

/** Runs the orders from standard input, one per line, and prints the results as JSON. Returns a function that stops this. */
export function takeOrders(order: NonNullable<StartedSandbox['order']>): () => void {
  const lines = createInterface(process.stdin).on('line', (line) => {
    process.stdout.write(`${JSON.stringify(order(line))}\n`);
  });
  return () => lines.close();
}

/** The request as a line for a shell. */
function curl({ url, headers = {}, body }: ExampleRequest): string {
  const named = Object.entries(headers).flatMap(([header, value]) => ['-H', quoted(`${header}: ${value}`)]);
  const sent = body === undefined ? [] : ['-d', quoted(body)];
  return ['curl -sS', ...named, ...sent, quoted(url)].join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([first]) => first.length));
  return rows.map(([first, second]) => `  ${first.padEnd(width)}  ${second}`).join('\n');
}

/** `clientId` as `client id`. */
function spaced(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
