// Tier: quick, at each change. Reads documents and settings of the project.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

test('.editorconfig has the same indentation and width as biome.json', () => {
  const { formatter } = JSON.parse(read('biome.json'));
  const [all = ''] = read('.editorconfig').split('[*.md]');
  const said = Object.fromEntries([...all.matchAll(/^(\w+) = (.+)$/gm)].map(([, key, value]) => [key, value]));
  expect(said).toMatchObject({
    indent_style: formatter.indentStyle,
    indent_size: `${formatter.indentWidth}`,
    max_line_length: `${formatter.lineWidth}`,
  });
});

test('each external image is pinned by its digest, and the devcontainer has the same base as the daemon', () => {
  const named = ['Dockerfile', 'compose.yaml', '.devcontainer/Dockerfile', ...yamlBelow('deploy')].flatMap((path) =>
    [...read(path).matchAll(/^\s*(?:FROM |image: |ARG NODE_IMAGE=)(?!clinic-mirror$|\$NODE_IMAGE)(\S+)/gm)].map(
      ([, image]) => ({
        path,
        image,
      }),
    ),
  );
  const [node, , devcontainer] = named;
  expect(named.map(({ path }) => path)).toEqual(['Dockerfile', 'compose.yaml', '.devcontainer/Dockerfile']);
  expect(named.filter(({ image }) => !/@sha256:[0-9a-f]{64}$/.test(image ?? ''))).toEqual([]);
  expect(devcontainer?.image).toBe(node?.image);
});

/** All YAML files below a folder. */
function yamlBelow(folder: string): string[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.yaml')).map((name) => join(folder, name));
}

test('the editor starts existing programs', () => {
  const { configurations } = JSON.parse(read('.vscode/launch.json')) as { configurations: { program: string }[] };
  const programs = configurations.map(({ program }) => program.replace(/^\$\{workspaceFolder\}\//, ''));
  expect(programs.length).toBeGreaterThan(1);
  expect(programs.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('every module of src/ has an owner, and every path with an owner exists', () => {
  const paths = [...read('.github/CODEOWNERS').matchAll(/^\/(\S+)\s+@\S+$/gm)].map((match) => match[1] ?? '');
  const entriesOf = (folder: string) =>
    readdirSync(join(root, folder), { withFileTypes: true }).map((entry) =>
      entry.isDirectory() ? `${folder}/${entry.name}/` : `${folder}/${entry.name}`,
    );
  const modules = entriesOf('src').flatMap((path) =>
    ['src/core/', 'src/operator/'].includes(path) ? entriesOf(path.slice(0, -1)) : [path],
  );
  expect(modules.filter((module) => !paths.includes(module))).toEqual([]);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('the issue template requires status, check and version, and warns against patient data', () => {
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
