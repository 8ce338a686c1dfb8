import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { billOfMaterials, licenseOf, TOLD_LICENSES } from '../../tools/bill-of-materials.ts';
import { baseImage, imageFiles, imageListing } from '../../tools/image-files.ts';
import { lockedPackages } from '../../tools/lock-file.ts';

const root = join(import.meta.dirname, '../..');
const read = (name: string) => readFileSync(join(root, name), 'utf8');
const manifest = JSON.parse(read('package.json')) as Record<
  'dependencies' | 'devDependencies' | 'optionalDependencies' | 'overrides',
  Record<string, string>
> & { allowScripts: Record<string, boolean> };
const packages = lockedPackages(root);
const inImage = packages.filter((each) => each.isInImage);

describe('packages', () => {
  test('have exact versions that match the lock file', () => {
    const { dependencies, devDependencies, optionalDependencies, overrides } = manifest;
    const named = { ...dependencies, ...devDependencies, ...optionalDependencies, ...overrides };
    expect(Object.entries(named).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
    const locked = new Map(packages.map(({ path, version }) => [path, version]));
    expect(Object.entries(named).filter(([name, version]) => locked.get(`node_modules/${name}`) !== version)).toEqual(
      [],
    );
  });

  test('come from the npm registry and have a checksum', () => {
    expect(packages.length).toBeGreaterThan(400);
    const unknown = packages.filter(({ integrity }) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''));
    expect(unknown.map(({ path }) => path)).toEqual([]);
    expect(read('package-lock.json')).not.toMatch(/"resolved": "(?!https:\/\/registry\.npmjs\.org\/)/);
  });

  test('run nothing while they are installed, and those that want to are refused by name', () => {
    expect(read('.npmrc').split('\n')).toContain('ignore-scripts=true');
    const wanting = [...new Set(packages.filter((each) => each.hasInstallScript).map(({ name }) => name))];
    expect(manifest.allowScripts).toEqual(Object.fromEntries(wanting.map((name) => [name, false])));
  });

  test('that are in the image let others use, change and sell what is built with them', () => {
    // MPL-2.0 applies to the package's own files; this project changes no file of such a package.
    const allowed = [
      '0BSD',
      'Apache-2.0',
      'BSD-2-Clause',
      'BSD-3-Clause',
      'ISC',
      'MIT',
      'MIT-0',
      'MPL-2.0',
      'PSF-2.0',
      'Unlicense',
    ];
    const others = inImage.filter((each) => !allowed.includes(licenseOf(each) ?? ''));
    expect(others.map(({ path, license }) => `${path}: ${license}`)).toEqual([]);
    const open = inImage.filter((each) => licenseOf(each) === 'MPL-2.0').map(({ name }) => name);
    expect(open).toEqual(['ical.js']);
  });

  test('have a licence, stated or determined by a reader', () => {
    expect(packages.filter((each) => licenseOf(each) === null).map(({ path }) => path)).toEqual([]);
    const unclear = packages.filter(({ license }) => license === null || license === 'BSD').map(({ name }) => name);
    expect(Object.keys(TOLD_LICENSES).toSorted()).toEqual([...new Set(unclear)].toSorted());
  });
});

describe('the bill of materials', () => {
  const bill = billOfMaterials(root);
  const refs = bill.components.map((component) => component['bom-ref']);

  test('is the same each time', () => {
    expect(JSON.stringify(billOfMaterials(root))).toBe(JSON.stringify(bill));
    expect(bill).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6' });
  });

  test('lists every package of the image once, with checksum and licence, and the base image by its digest', () => {
    const wanted = new Set(inImage.map(({ name, version }) => `${name} ${version}`));
    const libraries = bill.components.filter(({ type }) => type === 'library');
    expect(libraries.map(({ name, version }) => `${name} ${version}`).toSorted()).toEqual([...wanted].toSorted());
    for (const { hashes, licenses } of libraries) {
      expect(hashes).toEqual([{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }]);
      expect(licenses).toHaveLength(1);
    }
    const { digest } = baseImage(root);
    const bases = bill.components.filter(({ type }) => type === 'container');
    expect(bases).toMatchObject([{ name: 'node', hashes: [{ alg: 'SHA-256', content: digest.slice(7) }] }]);
    expect(new Set(refs).size).toBe(refs.length);
  });

  test('lists dependencies: all of package.json, and no unknown package', () => {
    const [own] = bill.dependencies;
    const purls = Object.entries(manifest.dependencies).map(
      ([name, version]) => `pkg:npm/${name.replace('@', '%40')}@${version}`,
    );
    expect(own?.dependsOn).toEqual(expect.arrayContaining(purls));
    const named = new Set(bill.dependencies.flatMap(({ dependsOn }) => dependsOn));
    expect([...named].filter((ref) => !refs.includes(ref))).toEqual([]);
    expect(
      refs.filter((ref) => !named.has(ref)),
      'packages that no other package requires',
    ).toEqual([]);
  });
});

describe('the listing of the image', () => {
  const listingOfProject = imageListing(root);

  test('has the whole program as a bundle, and neither sources, documents, tests nor configuration', async () => {
    const files = imageFiles(root);
    const wanted = ['bin', 'src', 'config/profiles'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && !/\.(md|ts)$/.test(entry.name))
        .map((entry) => relative(root, join(entry.parentPath, entry.name))),
    );
    expect(files).toEqual([...wanted, 'package.json'].toSorted());
    expect(files).toEqual(
      expect.arrayContaining(['bin/healthcheck.js', 'src/state/scripts/count.lua', 'package.json']),
    );
    const listed = (await listingOfProject).split('\n').map((line) => line.slice(66));
    const bundle = listed.filter((path) => path.startsWith('dist/'));
    expect(bundle).toEqual(expect.arrayContaining(['dist/cli.js', 'dist/cli.js.map']));
    expect(listed.filter((path) => path !== '')).toEqual([...files, ...bundle].toSorted());
    const ignored = read('.dockerignore')
      .split('\n')
      .filter((line) => /^[^#!]/.test(line));
    expect(ignored).toEqual(['*', '**/*.md']);
  });

  test('is the same for the same bytes, whenever they were written, and another for a different source', async () => {
    const copy = mkdtempSync(join(tmpdir(), 'image-files-'));
    onTestFinished(() => rmSync(copy, { recursive: true }));
    for (const path of ['Dockerfile', 'tools/bundle.ts', 'src', ...imageFiles(root), 'package-lock.json']) {
      cpSync(join(root, path), join(copy, path), { recursive: true });
      utimesSync(join(copy, path), 0, 0);
    }
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    const listing = await listingOfProject;
    expect(await imageListing(copy)).toBe(listing);
    appendFileSync(join(copy, 'src/state/scripts/count.lua'), '\n');
    appendFileSync(join(copy, 'src/cli.ts'), "process.stdout.write('another');\n");
    const [before, after] = [listing, await imageListing(copy)].map((text) => text.split('\n'));
    const changed = after?.filter((line, index) => line !== before?.[index]).map((line) => line.slice(66));
    expect(changed).toEqual(['dist/cli.js', 'dist/cli.js.map', 'src/state/scripts/count.lua']);
  });

  test('lists the files of "npm pack", except sources, the manifest and the README', () => {
    const packed = JSON.parse(
      execFileSync('npm', ['pack', '--dry-run', '--json', '--offline'], { cwd: root, encoding: 'utf8' }),
    );
    const paths: string[] = packed[0].files.map(({ path }: { path: string }) => path);
    const own = paths.filter((path) => !['package.json', 'README.md'].includes(path) && !path.endsWith('.ts'));
    expect(own.toSorted()).toEqual(imageFiles(root).filter((path) => path !== 'package.json'));
  });

  test('fails for a base image without a digest', () => {
    const copy = mkdtempSync(join(tmpdir(), 'image-files-'));
    onTestFinished(() => rmSync(copy, { recursive: true }));
    writeFileSync(join(copy, 'Dockerfile'), read('Dockerfile').replaceAll(/@sha256:[0-9a-f]+/g, ''));
    expect(() => baseImage(copy)).toThrow('NODE_IMAGE=<name>:<tag>@sha256:<digest>');
  });
});
