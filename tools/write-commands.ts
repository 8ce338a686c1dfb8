/** Writes docs/commands.md from the program: every command with its options, and the exit codes. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command, Option } from 'commander';
import { exampleOf } from '../src/operator/cli/examples.ts';
import { commandsOf, createProgram, EXIT_CODES, endsWithOne } from '../src/operator/cli/program.ts';
import { unusedOutside } from './unused-outside.ts';

const FILE = join(import.meta.dirname, '../docs/commands.md');

const HEAD = `# Commands

You set up, check and control clinic-mirror with these commands. \`npm run generate\` writes the list from the program. To find the command for a symptom, see
[Symptoms](runbook.md#symptoms). \`clinic-mirror <command> --help\` shows the same text.

Results go to standard output. Progress, prompts and errors go to standard error. In a terminal, output fits the width, and state words have colours unless \`NO_COLOR\` is set. In a
pipe, output has no colours, and tables have their full width. Times use the clinic's time zone, which is printed below the table. Output for clinics in different zones, and output
with \`--utc\`, uses UTC. JSON output (\`--json\`) always uses UTC (RFC 3339) and contains full lists.

Completion: \`source <(clinic-mirror completion bash)\` in \`~/.bashrc\`; for zsh \`clinic-mirror completion zsh\` into a file \`_clinic-mirror\` of your \`fpath\`; for fish
\`clinic-mirror completion fish > ~/.config/fish/completions/clinic-mirror.fish\`.`;

/** The document as it should be, by its file name. */
export function commandsDocument(): [string, string] {
  const program = createProgram(unusedOutside());
  const codes = Object.entries(EXIT_CODES).map(([code, meaning]) => `| ${code} | ${escaped(meaning)} |`);
  const parts = [
    HEAD,
    `## Exit codes\n\n| code | means |\n|---|---|\n${codes.join('\n')}`,
    `## Options of every command\n\nBefore the command or behind it.\n\n${optionsTable(program)}`,
    ...commandsOf(program).map(({ words, command }) => sectionOf(words, command)),
  ];
  return [FILE, `${parts.join('\n\n')}\n`];
}

function sectionOf(words: string, command: Command): string {
  const given = command.registeredArguments.map((one) => {
    const name = one.variadic ? `${one.name()}...` : one.name();
    return one.required ? `<${name}>` : `[${name}]`;
  });
  const when = endsWithOne(words);
  const parts = [`## \`${[...words.split(' ').slice(1), ...given].join(' ')}\``, `${sentence(command.description())}`];
  const example = exampleOf(words);
  if (example !== null) parts.push(`\`\`\`sh\n${example}\n\`\`\``);
  if (when !== null) parts.push(`Exits with code 1 if ${when}.`);
  if (command.options.length > 0) parts.push(optionsTable(command));
  return parts.join('\n\n');
}

function optionsTable({ options }: Command): string {
  return `| option | what |\n|---|---|\n${options.map(rowOf).join('\n')}`;
}

function rowOf({ flags, description, argChoices }: Option): string {
  const choices = argChoices === undefined ? '' : `: ${argChoices.join(', ')}`;
  return `| \`${flags}\` | ${escaped(description + choices)} |`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** A bar would start another cell, and text in angle brackets would be parsed as HTML. */
function escaped(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

if (import.meta.main) {
  const [file, text] = commandsDocument();
  writeFileSync(file, text);
}
