import type { TestProject } from 'vitest/node';
import { startTemplateDatabase } from './template-database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Owner's connection to a migrated, empty database: the template every test database is copied from. */
    templateUrl: string;
  }
}

/** One real PostgreSQL for the whole test run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const template = await startTemplateDatabase();
  project.provide('templateUrl', template.url);
  return template.stop;
}
