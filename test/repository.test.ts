import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

test('.editorconfig says of indentation and width what biome.json says', () => {
  const { formatter } = JSON.parse(read('biome.json'));
  const [all = ''] = read('.editorconfig').split('[*.md]');
  const said = Object.fromEntries([...all.matchAll(/^(\w+) = (.+)$/gm)].map(([, key, value]) => [key, value]));
  expect(said).toMatchObject({
    indent_style: formatter.indentStyle,
    indent_size: `${formatter.indentWidth}`,
    max_line_length: `${formatter.lineWidth}`,
  });
});

test('the devcontainer has the Node and the Debian of the image', () => {
  const tags = (path: string) =>
    [...read(path).matchAll(/^(?:FROM |ARG NODE_IMAGE=)node:(\d+)[\d.]*-(\w+)/gm)].map(([, major, debian]) => [
      major,
      debian,
    ]);
  const [image] = tags('Dockerfile');
  expect(image).toBeDefined();
  expect(tags('.devcontainer/Dockerfile')).toEqual([image]);
});

test('the editor starts programs that are there', () => {
  const { configurations } = JSON.parse(read('.vscode/launch.json')) as { configurations: { program: string }[] };
  const programs = configurations.map(({ program }) => program.replace(/^\$\{workspaceFolder\}\//, ''));
  expect(programs.length).toBeGreaterThan(1);
  expect(programs.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('every module of src/ has an owner, and every path that has one is there', () => {
  const paths = [...read('.github/CODEOWNERS').matchAll(/^\/(\S+)\s+@\S+$/gm)].map((match) => match[1] ?? '');
  const modules = readdirSync(join(root, 'src'), { withFileTypes: true }).map((entry) =>
    entry.isDirectory() ? `src/${entry.name}/` : `src/${entry.name}`,
  );
  expect(modules.filter((module) => !paths.includes(module))).toEqual([]);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('whoever reports a defect is asked for status, check and version, and told to keep patients out', () => {
  const { body } = parse(read('.github/ISSUE_TEMPLATE/defect.yml')) as {
    body: { attributes: { label?: string; value?: string }; validations?: { required: boolean } }[];
  };
  const required = body
    .filter(({ validations }) => validations?.required)
    .map(({ attributes }) => attributes.label ?? '');
  for (const command of ['status --json', 'config check', '--version']) {
    expect(required.some((label) => label.includes(`clinic-mirror ${command}`))).toBe(true);
  }
  expect(body[0]?.attributes.value).toContain("Never paste patients' data");
});
