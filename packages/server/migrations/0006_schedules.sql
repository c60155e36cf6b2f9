CREATE TABLE "retention_checks" (
	"project_id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "retention_checks" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "schedule_runs" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"schedule_id" text NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL,
	"by_hand" boolean NOT NULL,
	"started_at" timestamp (3) with time zone,
	"status" text NOT NULL,
	"reason" text,
	"backup_id" text,
	"number" integer,
	"begins_before" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "schedule_runs" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "schedules" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"name" text NOT NULL,
	"cron" text NOT NULL,
	"timezone" text NOT NULL,
	"enabled" boolean NOT NULL,
	"type" text NOT NULL,
	"full_every" integer,
	"collections" jsonb NOT NULL,
	"exclude_collections" jsonb NOT NULL,
	"include_subcollections" boolean NOT NULL,
	"storage_destination_ids" jsonb NOT NULL,
	"retention_days" integer,
	"retention_policy" jsonb,
	"catch_up" text NOT NULL,
	"missed_after_minutes" integer NOT NULL,
	"drill_every" integer,
	"verify_every" integer,
	"next_run_at" timestamp (3) with time zone,
	"run_count" integer DEFAULT 0 NOT NULL,
	"last_run" jsonb,
	"created_by_id" text,
	"created_by_email" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "schedules" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "backups" ADD COLUMN "retention_days" integer;--> statement-breakpoint
ALTER TABLE "backups" ADD COLUMN "retained_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "backups" ADD COLUMN "stands_for" text;--> statement-breakpoint
ALTER TABLE "backups" ADD COLUMN "collection_counts" jsonb;--> statement-breakpoint
ALTER TABLE "backups" ADD COLUMN "anomaly" jsonb;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "retention_frozen" jsonb;--> statement-breakpoint
ALTER TABLE "retention_checks" ADD CONSTRAINT "retention_checks_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "schedule_runs" ADD CONSTRAINT "schedule_runs_schedule_id_schedules_id_fk" FOREIGN KEY ("schedule_id") REFERENCES "public"."schedules"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "schedules" ADD CONSTRAINT "schedules_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "retention_checks_due" ON "retention_checks" USING btree ("due_at");--> statement-breakpoint
CREATE UNIQUE INDEX "schedule_runs_once" ON "schedule_runs" USING btree ("schedule_id","due_at") WHERE not "schedule_runs"."by_hand";--> statement-breakpoint
CREATE INDEX "schedule_runs_newest" ON "schedule_runs" USING btree ("organization_id","schedule_id","due_at","id");--> statement-breakpoint
CREATE INDEX "schedule_runs_by_backup" ON "schedule_runs" USING btree ("backup_id") WHERE "schedule_runs"."backup_id" is not null;--> statement-breakpoint
CREATE INDEX "schedule_runs_waiting" ON "schedule_runs" USING btree ("begins_before") WHERE "schedule_runs"."status" = 'triggered';--> statement-breakpoint
CREATE INDEX "schedule_runs_by_age" ON "schedule_runs" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "schedules_by_organization" ON "schedules" USING btree ("organization_id","id");--> statement-breakpoint
CREATE INDEX "schedules_by_project" ON "schedules" USING btree ("organization_id","project_id");--> statement-breakpoint
CREATE INDEX "schedules_due" ON "schedules" USING btree ("next_run_at") WHERE "schedules"."next_run_at" is not null;--> statement-breakpoint
CREATE INDEX "backups_by_schedule" ON "backups" USING btree ("organization_id","schedule_id","id");--> statement-breakpoint
CREATE INDEX "backups_open_of_schedule" ON "backups" USING btree ("schedule_id") WHERE "backups"."status" in ('pending', 'running');--> statement-breakpoint
CREATE POLICY "tenant" ON "retention_checks" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("retention_checks"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("retention_checks"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "retention_checks" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "schedule_runs" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("schedule_runs"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("schedule_runs"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "schedule_runs" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "schedules" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("schedules"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("schedules"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "schedules" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);