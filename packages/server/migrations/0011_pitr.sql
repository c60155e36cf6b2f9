CREATE TABLE "pitr_logs" (
	"project_id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"enabled" boolean NOT NULL,
	"storage_destination_id" text NOT NULL,
	"retention_days" integer NOT NULL,
	"log_id" text NOT NULL,
	"database" text NOT NULL,
	"envelope" jsonb NOT NULL,
	"key_id" text NOT NULL,
	"manifest_written" boolean DEFAULT false NOT NULL,
	"started_from" text NOT NULL,
	"covered_through" text NOT NULL,
	"position" jsonb,
	"next_sequence" integer DEFAULT 0 NOT NULL,
	"holder" text,
	"epoch" integer DEFAULT 0 NOT NULL,
	"heartbeat_at" timestamp (3) with time zone,
	"failures" integer DEFAULT 0 NOT NULL,
	"retry_at" timestamp (3) with time zone,
	"error" jsonb,
	"reads_used" bigint DEFAULT 0 NOT NULL,
	"untold" jsonb,
	"told_at" timestamp (3) with time zone,
	"anomaly_told_at" timestamp (3) with time zone,
	"reconcile_due_at" timestamp (3) with time zone,
	"last_reconciled_at" timestamp (3) with time zone,
	"compact_due_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "pitr_logs" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "pitr_segments" (
	"project_id" text NOT NULL,
	"organization_id" text NOT NULL,
	"log_id" text NOT NULL,
	"sequence" integer NOT NULL,
	"key" text NOT NULL,
	"covered_from" text NOT NULL,
	"covered_through" text NOT NULL,
	"changes" integer NOT NULL,
	"deletes" integer NOT NULL,
	"collections" jsonb NOT NULL,
	"path_hashes" integer[] NOT NULL,
	"stored_bytes" bigint NOT NULL,
	"gap" jsonb,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "pitr_segments_log_id_sequence_pk" PRIMARY KEY("log_id","sequence")
);
--> statement-breakpoint
ALTER TABLE "pitr_segments" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "pitr_logs" ADD CONSTRAINT "pitr_logs_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pitr_segments" ADD CONSTRAINT "pitr_segments_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "pitr_logs_by_organization" ON "pitr_logs" USING btree ("organization_id");--> statement-breakpoint
CREATE INDEX "pitr_logs_enabled" ON "pitr_logs" USING btree ("heartbeat_at") WHERE "pitr_logs"."enabled";--> statement-breakpoint
CREATE INDEX "pitr_segments_by_time" ON "pitr_segments" USING btree ("log_id","covered_through");--> statement-breakpoint
CREATE INDEX "pitr_segments_by_path" ON "pitr_segments" USING gin ("path_hashes");--> statement-breakpoint
CREATE INDEX "pitr_segments_gaps" ON "pitr_segments" USING btree ("log_id") WHERE "pitr_segments"."gap" is not null;--> statement-breakpoint
CREATE POLICY "tenant" ON "pitr_logs" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("pitr_logs"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("pitr_logs"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "pitr_logs" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "pitr_segments" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("pitr_segments"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("pitr_segments"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "pitr_segments" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);